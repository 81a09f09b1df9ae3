//! Drawing while streams run: at most one signal a lane and animation frame, whatever came in
//! between, and the paint stamps of what was drawn.

use crate::guard::Frames;
use crate::model::Model;
use crate::paint::Painter;

/// Frames that may be drawn in one animation frame. Eight lanes of a chat's pace fit in whole;
/// faster ones take turns, so that drawing never keeps the page from reading.
const DRAWN_AT_ONCE: usize = 600;

/// Draws until the guard is dropped.
pub(super) fn each_frame(model: Model) -> Frames {
    let painter = Painter::new();
    let mut next = 0;
    Frames::each(move || {
        let lanes = model.lane_models();
        let (mut drawn, mut logs) = (0, Vec::new());
        for offset in 0..lanes.len() {
            let index = (next + offset) % lanes.len();
            let Some((planned, elapsed, frames)) = lanes[index].progress() else { continue };
            if drawn > 0 && drawn + frames > DRAWN_AT_ONCE {
                // The next animation frame goes on here.
                next = index;
                break;
            }
            drawn += frames;
            model.grow_domain(planned, elapsed);
            lanes[index].bump();
            logs.extend(lanes[index].with_raw(|raw| raw.live.as_ref().map(|live| live.0.clone())));
        }
        // What the signals set off runs before the browser paints this frame.
        if let Some(painter) = &painter {
            painter.frame(logs);
        }
    })
}
