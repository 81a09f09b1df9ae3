//! Drawing while streams run: one callback an animation frame for all lanes, whatever came in
//! between, and the paint stamps of what was drawn.

use crate::browser;
use crate::guard::Frames;
use crate::model::{LaneModel, Model};
use crate::paint::Painter;

/// Draws until the guard is dropped.
pub(super) fn each_frame(model: Model) -> Frames {
    let painter = Painter::new();
    let mut frame = 0_u32;
    Frames::each(move || {
        if painter.as_ref().is_some_and(|painter| !painter.may_draw()) {
            return;
        }
        let began = browser::now_us();
        frame = frame.wrapping_add(1);
        model.paint(frame);
        // The text of every stream is in the document now, before the browser paints this frame.
        if let Some(painter) = &painter {
            let lanes = model.lane_models();
            let live = |lane: &LaneModel| {
                lane.with_raw(|raw| raw.live.as_ref().map(|live| live.0.clone()))
            };
            painter.frame(began, lanes.iter().filter_map(live).collect());
        }
    })
}
