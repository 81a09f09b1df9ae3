//! What can go wrong with a browser, in one line each.

use std::error::Error;
use std::time::Duration;

use fantoccini::error::{CmdError, NewSessionError};
use serde_json::Value;

/// Most characters of a driver's own message: what comes after is its stack.
const MOST: usize = 300;
/// Characters that show what kind of thing answered.
const FEW: usize = 40;

/// A browser that cannot be driven.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DriverError {
    #[error("{engine} not found: there is no {what}; install it with: {install}")]
    Missing { engine: &'static str, what: &'static str, install: &'static str },
    #[error("{program} did not start: {why}{}", last(log))]
    Start { program: &'static str, why: String, log: Vec<String> },
    #[error("{engine} did not start: {why}; is the browser itself there? ({install}){}", last(log))]
    Session { engine: &'static str, install: &'static str, why: String, log: Vec<String> },
    #[error("{engine} is not to be had from {service}: {why}")]
    Refused { engine: &'static str, service: String, why: String },
    #[error("nothing can be driven at {service}: {why}; is a WebDriver service running there?")]
    Service { service: String, why: String },
    #[error(
        "{engine} cannot open {address}: {why}; where the browser runs elsewhere, --listen and --public-host give an address that it reaches"
    )]
    Open { engine: &'static str, address: String, why: String },
    #[error("{engine} stopped answering: {why}{}", last(log))]
    Gone { engine: &'static str, why: String, log: Vec<String> },
}

fn last(log: &[String]) -> String {
    match log.last() {
        Some(line) => format!("; its last words: {}", line.trim()),
        None => String::new(),
    }
}

/// Why no session came, in one line.
pub(crate) fn no_session(error: &NewSessionError) -> String {
    match error {
        NewSessionError::FailedC(error) => cause(error),
        NewSessionError::Failed(error) => cause(error),
        NewSessionError::Lost(error) => cause(error),
        // What is not understood is shown as it came; drivers put a message of their own in it.
        NewSessionError::NotW3C(Value::String(text)) => {
            let text: String = text.chars().take(FEW).collect();
            format!("it answers as no WebDriver service does, with {text:?}")
        }
        NewSessionError::NotW3C(answer) => match answer["message"].as_str() {
            Some(message) => one_line(message),
            None => one_line(&answer.to_string()),
        },
        NewSessionError::SessionNotCreated(error) => one_line(&error.message),
        NewSessionError::UnexpectedError(error) => no_answer(error),
        NewSessionError::BadWebdriverUrl(error) => one_line(&error.to_string()),
    }
}

/// Why a command failed, in one line.
pub(crate) fn no_answer(error: &CmdError) -> String {
    match error {
        CmdError::Standard(error) => one_line(&error.message),
        CmdError::FailedC(error) => cause(error),
        CmdError::Failed(error) => cause(error),
        error => one_line(&error.to_string()),
    }
}

/// The innermost cause: what stands around it says only that a connection failed.
pub(crate) fn cause(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(inner) = innermost.source() {
        innermost = inner;
    }
    one_line(&innermost.to_string())
}

/// That a time limit has passed.
pub(crate) fn too_late(limit: Duration) -> String {
    format!("no answer within {} s", limit.as_secs())
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_drivers_message_is_taken_out_of_its_answer() {
        let refused = json!({ "error": "unknown error", "message": "no Chrome\n#0 0x55\n" });
        assert_eq!(no_session(&NewSessionError::NotW3C(refused)), "no Chrome");
        let page = Value::String("<html>\n".repeat(100));
        let said = no_session(&NewSessionError::NotW3C(page));
        assert!(said.starts_with("it answers as no WebDriver service does, with \"<html>"));
        assert_eq!(said.lines().count(), 1);
        assert!(said.len() < 200, "{said}");
    }

    #[derive(Debug, thiserror::Error)]
    #[error("it failed")]
    struct Outer(#[source] std::io::Error);

    #[test]
    fn the_cause_is_told_and_the_last_words_of_a_driver() {
        let outer = std::fs::File::open("/nonexistent").map_err(Outer).unwrap_err();
        assert_eq!(cause(&outer), "No such file or directory (os error 2)");
        let log = vec!["first".to_string(), " last \n".to_string()];
        let error = DriverError::Start { program: "chromedriver", why: "it ended".into(), log };
        assert_eq!(error.to_string(), "chromedriver did not start: it ended; its last words: last");
    }
}
