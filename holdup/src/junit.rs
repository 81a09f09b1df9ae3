//! JUnit files, which CI systems show: one case for each thing that was judged.

use std::path::Path;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::exit::Problem;
use crate::out::put;

/// What became of a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// As it should be.
    Passed,
    /// Not as it should be: one line.
    Failed(String),
    /// It could not be measured: one line.
    Error(String),
    /// It decides nothing (void, not to be had here): the reason.
    Skipped(String),
}

/// One case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// What it belongs to, such as an endpoint.
    pub(crate) group: String,
    /// Its name, unique in its suite.
    pub(crate) name: String,
    /// How long it took, where that is known.
    pub(crate) time: Option<Duration>,
    pub(crate) state: State,
    /// What was seen, for whoever opens the case.
    pub(crate) details: String,
}

/// The text of a suite's file.
pub(crate) fn render(suite: &str, cases: &[Case]) -> Result<String, Problem> {
    let mut tests = TestSuite::new(suite);
    for case in cases {
        let mut status = match &case.state {
            State::Passed => TestCaseStatus::success(),
            State::Failed(_) => TestCaseStatus::non_success(NonSuccessKind::Failure),
            State::Error(_) => TestCaseStatus::non_success(NonSuccessKind::Error),
            State::Skipped(_) => TestCaseStatus::skipped(),
        };
        if let State::Failed(why) | State::Error(why) | State::Skipped(why) = &case.state {
            status.set_message(why.as_str());
        }
        let mut test = TestCase::new(case.name.as_str(), status);
        test.set_classname(format!("{suite}.{}", case.group));
        if let Some(time) = case.time {
            test.set_time(time);
        }
        if !case.details.is_empty() {
            test.set_system_out(case.details.as_str());
        }
        tests.add_test_case(test);
    }
    let mut report = Report::new("holdup");
    report.add_test_suite(tests);
    report.to_string().map_err(Problem::nothing)
}

/// Writes a suite's file.
pub(crate) fn write(path: &Path, suite: &str, cases: &[Case]) -> Result<(), Problem> {
    put(path, &render(suite, cases)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(name: &str, state: State) -> Case {
        Case {
            group: "haproxy".into(),
            name: name.into(),
            time: None,
            state,
            details: String::new(),
        }
    }

    #[test]
    fn each_state_is_told_and_counted() {
        let cases = [
            Case { time: Some(Duration::from_millis(2_050)), ..case("live", State::Passed) },
            case("corked", State::Failed("held 205 ms".into())),
            case("gone", State::Error("does not run".into())),
            case("noisy", State::Skipped("void: the direct path was late".into())),
        ];
        let text = render("measure", &cases).unwrap();
        for part in [
            r#"tests="4" skipped="1" failures="1" errors="1""#,
            r#"<testcase name="live" classname="measure.haproxy" time="2.050"/>"#,
            r#"<failure message="held 205 ms"/>"#,
            r#"<error message="does not run"/>"#,
            r#"<skipped message="void: the direct path was late"/>"#,
        ] {
            assert!(text.contains(part), "{part} in {text}");
        }
    }

    #[test]
    fn what_xml_reserves_or_forbids_cannot_break_out() {
        let odd = "a<b>&\"c\"\u{1b}[31m\u{0} ]]> é";
        let mut cases = [case(odd, State::Failed(odd.into()))];
        cases[0].details = odd.into();
        let text = render("measure", &cases).unwrap();
        assert!(!text.contains('\u{1b}') && !text.contains('\0'), "{text}");
        assert!(!text.contains("<b>") && text.contains("&lt;b&gt;&amp;"), "{text}");
        let read = quick_junit::Report::deserialize_from_str(&text).unwrap();
        let test = &read.test_suites[0].test_cases[0];
        assert_eq!(test.name.as_str(), "a<b>&\"c\" ]]> é");
    }
}
