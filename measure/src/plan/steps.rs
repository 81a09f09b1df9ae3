//! A round as a page plays it: steps of cells that run at the same time.

use crate::cell::Cell;
use crate::plan::Plan;

impl Plan {
    /// One round as a page plays it: steps, each of cells that run at the same time. The order is
    /// that of [`Plan::round`], but a native cell stands right after the last browser cell whose
    /// path it confirms, and those that confirm none come last.
    pub fn steps(&self, round: u32) -> Vec<Vec<usize>> {
        let order = self.round(round);
        let in_browser = |index: &usize| self.cells[*index].reader.in_browser();
        let (browser, native): (Vec<usize>, Vec<usize>) = order.into_iter().partition(in_browser);
        let mut steps: Vec<Vec<usize>> = Vec::new();
        for index in browser {
            let cell = &self.cells[index];
            let together = |step: &Vec<usize>| {
                cell.concurrency > 1
                    && step
                        .first()
                        .is_some_and(|first| self.cells[*first].control_key() == cell.control_key())
            };
            match steps.iter_mut().find(|step| together(step)) {
                // The control of cells that run at once runs once, with them.
                Some(step) if step.contains(&index) => {}
                Some(step) => step.push(index),
                None => steps.push(vec![index]),
            }
        }
        // In the order of the plan, each once. A second sort would cost the page a kilobyte.
        for index in (0..self.cells.len()).filter(|index| native.contains(index)) {
            let cell = &self.cells[index];
            let confirmed =
                |step: &Vec<usize>| step.iter().any(|other| cell.confirms(&self.cells[*other]));
            // After those that confirm the same lane already, in the order of the plan.
            let after = steps.iter().rposition(|step| {
                confirmed(step)
                    || step.iter().any(|other| self.cells[*other].lane_key() == cell.lane_key())
            });
            let place = after.map_or(steps.len(), |place| place + 1);
            steps.insert(place, vec![index]);
        }
        steps
    }

    /// How many runs a page makes of the plan: each native cell confirms once a round.
    pub fn page_run_count(&self) -> usize {
        (0..self.rounds).map(|round| self.steps(round).iter().map(Vec::len).sum::<usize>()).sum()
    }

    /// Makes every browser cell of a reader and link run at the same time as the others. The
    /// native reader goes on alone: it is the control.
    pub fn all_at_once(&mut self) {
        let keys: Vec<String> = self.cells.iter().map(Cell::control_key).collect();
        for (cell, key) in self.cells.iter_mut().zip(&keys) {
            if cell.reader.in_browser() {
                let together = keys.iter().filter(|other| *other == key).count();
                cell.concurrency = together as u32;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrivals::Reader;
    use crate::plan::{BROWSER_ENCODINGS, ReaderProfile};

    fn for_page(preset: &str, at_once: bool) -> Plan {
        let readers = [
            ReaderProfile::browser(Reader::Fetch, None),
            ReaderProfile::browser(Reader::FetchWorker, None),
            ReaderProfile::confirming(),
        ];
        let mut plan = Plan::preset(preset, &[], &readers, Some(1448), 1, 7).unwrap();
        if at_once {
            plan.all_at_once();
        }
        plan
    }

    #[test]
    fn in_a_page_the_native_reader_follows_the_lane_it_confirms() {
        let plan = for_page("headline", false);
        let steps = plan.steps(0);
        assert!(steps.iter().all(|step| step.len() == 1));
        let mut native = 0;
        for pair in steps.windows(2) {
            let (before, cell) = (&plan.cells[pair[0][0]], &plan.cells[pair[1][0]]);
            if cell.reader == Reader::Recv {
                native += 1;
                assert!(cell.confirms(before), "{} after {}", cell.id(), before.id());
            }
        }
        assert_eq!(native, 8, "each lane is confirmed once a round");
        assert_eq!(plan.page_run_count(), 2 * 9 + 8, "two readers with their control twice");
    }

    #[test]
    fn lanes_at_once_are_one_step_and_their_confirmations_follow() {
        let plan = for_page("headline", true);
        let steps = plan.steps(0);
        let sizes: Vec<usize> = steps.iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().filter(|size| **size == 8).count(), 2, "one a reader: {sizes:?}");
        assert_eq!(sizes.iter().filter(|size| **size == 1).count(), 8);
        assert!(
            plan.cells.iter().all(|cell| {
                cell.concurrency == if cell.reader == Reader::Recv { 1 } else { 8 }
            })
        );
    }

    #[test]
    fn streams_through_one_endpoint_are_cells_of_one_step_and_protocols_have_steps_of_their_own() {
        let plan = for_page("connection-limit", false);
        let mut sizes: Vec<usize> = plan.steps(0).iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [1, 1, 7, 7, 20, 20], "two readers of each, and what confirms them");
        let mut ids: Vec<String> = plan.cells.iter().map(Cell::id).collect();
        ids.sort();
        ids.dedup();
        assert_eq!(ids.len(), 2 * 7 + 1 + 2 * 20 + 1);
    }

    #[test]
    fn a_page_is_not_asked_for_http1_over_tls_and_each_protocol_is_confirmed_by_itself() {
        let plan = for_page("protocols", false);
        let mut spoken: Vec<&str> =
            plan.cells.iter().map(|cell| cell.request.client_protocol.as_str()).collect();
        spoken.sort_unstable();
        spoken.dedup();
        assert_eq!(spoken, ["h2", "h3", "http/1.1"]);
        for native in plan.cells.iter().filter(|cell| cell.reader == Reader::Recv) {
            let confirmed: Vec<&Cell> =
                plan.cells.iter().filter(|cell| native.confirms(cell)).collect();
            assert_eq!(confirmed.len(), 2, "{}: two readers", native.id());
        }
        let native = Plan::preset("protocols", &[], &[ReaderProfile::recv()], None, 1, 7).unwrap();
        let over_tls = |cell: &&Cell| cell.request.client_protocol == "http/1.1+tls";
        assert!(native.cells.iter().find(over_tls).is_some());
    }

    #[test]
    fn the_gzip_preset_confirms_as_a_browser_and_as_a_command_line_does() {
        let plan = for_page("gzip", false);
        let native: Vec<&Cell> = plan
            .cells
            .iter()
            .filter(|cell| cell.reader == Reader::Recv && cell.endpoint == "nginx-gzip")
            .collect();
        let asked: Vec<Option<&str>> =
            native.iter().map(|cell| cell.request.accept_encoding.as_deref()).collect();
        assert!(asked.contains(&None) && asked.contains(&Some(BROWSER_ENCODINGS)), "{asked:?}");
    }
}
