//! A screen for a browser without a headless mode: an X server of our own that shows nothing.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use proxies::supervise::{Command, Supervised, Supervisor};

use crate::browser::error::{DriverError, too_late};

const PROGRAM: &str = "Xvfb";
/// How long the X server may take. It takes a tenth of a second, unless the machine is drowning.
const LIMIT: Duration = Duration::from_secs(20);
/// Larger than the largest window that is looked at, with room for the window's own bars.
const SCREEN: &str = "2048x1400x24";

/// A running X server. Dropping it ends it.
pub(crate) struct Display {
    number: u32,
    _server: Supervised,
}

impl Display {
    /// Starts one on a free display; its log goes to `folder`.
    ///
    /// # Errors
    /// When it does not start in time.
    pub(crate) async fn start(program: PathBuf, folder: &Path) -> Result<Display, DriverError> {
        let failed =
            |why: String, log: Vec<String>| DriverError::Start { program: PROGRAM, why, log };
        let log = folder.join("screen.log");
        let supervisor =
            Supervisor::this_program().map_err(|error| failed(error.to_string(), Vec::new()))?;
        let mut server = Command::new(&supervisor, program)
            // The number it takes goes to descriptor 1: the log.
            .args(["-displayfd", "1", "-screen", "0", SCREEN, "-nolisten", "tcp"])
            .spawn(&log)
            .map_err(|error| failed(error.to_string(), Vec::new()))?;
        let deadline = Instant::now() + LIMIT;
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            if let Some(number) = number_in(&text) {
                return Ok(Display { number, _server: server });
            }
            if !matches!(server.try_wait(), Ok(None)) {
                return Err(failed("it ended at once".into(), server.log_tail(3)));
            }
            if Instant::now() > deadline {
                return Err(failed(too_late(LIMIT), server.log_tail(3)));
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// The value of DISPLAY for its clients.
    pub(crate) fn name(&self) -> String {
        format!(":{}", self.number)
    }
}

/// The display's number, once its whole line is there.
fn number_in(log: &str) -> Option<u32> {
    let whole = log.rfind('\n').map_or("", |end| &log[..end]);
    whole.lines().find_map(|line| line.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_is_read_once_its_line_is_whole() {
        assert_eq!(number_in(""), None);
        assert_eq!(number_in("1"), None, "it may become 12");
        assert_eq!(number_in("_XSERVTransmkdir: some warning\n12\n"), Some(12));
    }
}
