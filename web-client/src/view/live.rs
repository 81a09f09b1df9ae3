//! A stream while it runs: each animation frame adds what is new and draws nothing anew, so that
//! a frame costs the same however long the stream is.

use std::cell::Cell;
use std::rc::Rc;

use measure::{Reader, RunId, Script, Span, Stamp};
use web_sys::Element;

use crate::browser;
use crate::geometry::{self, Clump, LABEL_ROOM, Label, NARROW_ROOM, PAGE_Y, SENT_Y, TICK, WIDTH};
use crate::model::{LaneModel, Model, Painter};
use crate::readers::SharedLog;
use crate::view::chart;
use crate::view::place::{By, document, put};

/// Marks of one path. A browser reads a path's text anew when it grows: a full one is left alone,
/// and the next is begun.
const MARKS: u32 = 256;

/// Marks of one kind.
struct Layer {
    class: &'static str,
    width: &'static str,
    d: String,
    marks: u32,
    path: Option<Element>,
    grown: bool,
}

impl Layer {
    fn new(class: &'static str, width: &'static str) -> Layer {
        Layer { class, width, d: String::new(), marks: 0, path: None, grown: false }
    }

    fn add(&mut self, from: (f64, f64), to: (f64, f64)) {
        geometry::line(&mut self.d, from, to);
        self.marks += 1;
        self.grown = true;
    }

    /// Puts what was added into the document.
    fn flush(&mut self, svg: &Element) {
        if !std::mem::take(&mut self.grown) {
            return;
        }
        if self.path.is_none() {
            self.path = path_in(svg, self.class, self.width);
        }
        if let Some(path) = &self.path {
            put(path, By::Attribute("d"), &self.d);
        }
        if self.marks >= MARKS {
            (self.path, self.marks) = (None, 0);
            self.d.clear();
        }
    }
}

/// A new path in the drawing.
fn path_in(svg: &Element, class: &str, width: &str) -> Option<Element> {
    let path = document()?.create_element_ns(Some("http://www.w3.org/2000/svg"), "path").ok()?;
    put(&path, By::Attribute("class"), class);
    if !width.is_empty() {
        put(&path, By::Attribute("stroke-width"), width);
    }
    svg.append_child(&path).ok()?;
    Some(path)
}

/// What was drawn of one run.
struct Drawing {
    run: RunId,
    domain: Span,
    svg: Element,
    /// When each frame is due, after the call; the ledger tells the truth later.
    due: Vec<Span>,
    sent: usize,
    /// Deliveries that are drawn whole, and how many frames the next one had when it was drawn.
    deliveries: usize,
    frames: u32,
    /// Where the last count was written.
    labelled: Option<f64>,
    ticks: Layer,
    prompt: Layer,
    late: Layer,
    dots: [Layer; chart::DOT_WIDTHS.len()],
}

/// The painter of a lane: into its plot goes the chart, into its text the tokens. `live` is set
/// when the plot has something of a running stream.
pub(crate) fn painter(model: Model, plot: Element, text: Element, live: Rc<Cell<bool>>) -> Painter {
    let mut drawing: Option<Drawing> = None;
    let mut said = String::new();
    Box::new(move |lane: &LaneModel, chart| {
        let tokens = lane.text();
        if tokens != said {
            put(&text, By::Text, &tokens);
            said = tokens;
        }
        if !chart {
            return;
        }
        let Some((log, reader, script)) = lane.with_raw(|raw| raw.live.clone()) else { return };
        let domain = model.look(|state| state.domain()).unwrap_or_default();
        let run = log.borrow().arrivals.run;
        if drawing.as_ref().is_none_or(|own| own.run != run || own.domain != domain || !live.get())
        {
            drawing = Drawing::begin(&plot, run, domain, &script, reader);
            live.set(true);
        }
        if let Some(drawing) = &mut drawing {
            drawing.go_on(&plot, &log);
        }
    })
}

impl Drawing {
    fn begin(
        plot: &Element,
        run: RunId,
        domain: Span,
        script: &Script,
        reader: Reader,
    ) -> Option<Drawing> {
        let mut svg = String::from(chart::OPEN);
        svg.push_str(" live\">");
        chart::path(&mut svg, "grid", &chart::grid(domain), "");
        let axes = if reader == Reader::FetchWorker { 3 } else { 2 };
        let heights: Vec<f64> = geometry::heights(axes).collect();
        chart::path(&mut svg, "axes", &chart::axis_lines(&heights), "");
        svg.push_str("</svg>");
        put(plot, By::Markup, &svg);
        let due = script.write_of_frames().into_iter().filter_map(|write| script.due(write));
        Some(Drawing {
            run,
            domain,
            svg: plot.first_element_child()?,
            due: due.collect(),
            sent: 0,
            deliveries: 0,
            frames: 0,
            labelled: None,
            ticks: Layer::new("ticks", ""),
            prompt: Layer::new("line", ""),
            late: Layer::new("line late undivided", ""),
            dots: chart::DOT_WIDTHS.map(|width| Layer::new("dot", width)),
        })
    }

    fn go_on(&mut self, plot: &Element, log: &SharedLog) {
        let log = log.borrow();
        let call = log.arrivals.call;
        let elapsed = Stamp(browser::now_us()) - call;
        while let Some(due) = self.due.get(self.sent).filter(|due| **due <= elapsed) {
            let x = geometry::x(*due, self.domain);
            self.ticks.add((x, SENT_Y - TICK), (x, SENT_Y + TICK));
            self.sent += 1;
        }
        let new = log.arrivals.deliveries.get(self.deliveries..).unwrap_or_default();
        let open = new.len().saturating_sub(1);
        for (place, delivery) in new.iter().enumerate() {
            let clump = Clump::of(delivery, delivery.paged.unwrap_or(delivery.at) - call);
            self.clump(&clump);
            // Events of one task come one by one: the last delivery may still grow.
            if place < open {
                let x = geometry::x(clump.at, self.domain);
                let room = self.labelled.map_or(f64::INFINITY, |last| x - last);
                // Counts without room, and those that are not drawn, come when the run is over.
                if clump.count > 1 && room >= LABEL_ROOM {
                    self.labelled = Some(x);
                    let tight = room < NARROW_ROOM;
                    let label = Label { share: x / WIDTH, count: clump.count, tight };
                    let _ = plot.insert_adjacent_html("beforeend", &chart::count(&label));
                }
                self.deliveries += 1;
                self.frames = 0;
            } else {
                self.frames = clump.count;
            }
        }
        for layer in [&mut self.ticks, &mut self.prompt, &mut self.late] {
            layer.flush(&self.svg);
        }
        for layer in &mut self.dots {
            layer.flush(&self.svg);
        }
    }

    /// A delivery's dot, and its frames' lines from when they were due.
    fn clump(&mut self, clump: &Clump) {
        if clump.count == 0 || clump.count == self.frames {
            return;
        }
        let right = geometry::x(clump.at, self.domain);
        for seq in clump.seqs.iter().skip(self.frames as usize) {
            let Some(due) = self.due.get(*seq as usize) else { continue };
            let layer =
                if geometry::is_late(clump.at - *due) { &mut self.late } else { &mut self.prompt };
            layer.add((geometry::x(*due, self.domain), SENT_Y), (right, PAGE_Y));
        }
        let size = geometry::size_of(clump.count);
        self.dots[size].add((right, PAGE_Y), (right, PAGE_Y));
    }
}
