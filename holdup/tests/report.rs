//! `holdup report`: its two files, bad input, and the schema that results are held against.

#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;
mod synthetic;

use std::fs;
use std::path::{Path, PathBuf};

use boon::{Compiler, SchemaIndex, Schemas};
use common::{alone, document, run, skipped, status, stderr};
use serde_json::Value;
use synthetic::Synthetic;

/// The committed schema, compiled.
fn schema() -> (Schemas, SchemaIndex) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/schema/results.schema.json");
    let text: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.add_resource("urn:holdup:results:1", text).unwrap();
    let index = compiler.compile("urn:holdup:results:1", &mut schemas).unwrap();
    (schemas, index)
}

fn valid(value: &Value) -> Result<(), String> {
    let (schemas, index) = schema();
    schemas.validate(value, index).map_err(|error| error.to_string())
}

/// A report of a folder; the folder it went to.
fn report(folder: &Path) -> (PathBuf, std::process::Output) {
    let out = folder.join("made");
    let output = run(&["report", folder.to_str().unwrap(), "--out", out.to_str().unwrap()]);
    (out, output)
}

fn made(synthetic: &Synthetic) -> (String, String) {
    let folder = tempfile::tempdir().unwrap();
    synthetic.write(folder.path());
    let (out, output) = report(folder.path());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let read = |name: &str| fs::read_to_string(out.join(name)).unwrap();
    (read("report.html"), read("report.md"))
}

#[test]
fn markdown_is_as_it_was() {
    let (_, markdown) = made(&synthetic::headline());
    insta::assert_snapshot!("report_md", markdown);
}

#[test]
fn html_is_whole_and_by_itself() {
    let (html, _) = made(&synthetic::headline());
    well_formed(&html);
    for outside in ["<script", "<link", "<iframe", "src=", "href=", "url(", "@import", "http-equiv"]
    {
        assert!(!html.contains(outside), "{outside}");
    }
    for inside in [
        "Who is holding up your tokens?",
        "haproxy holds them up: corked, first token after 207 ms",
        "prefers-color-scheme: dark",
        "@media print",
        "<svg class=\"slope\"",
        "<svg class=\"spread\"",
        "option http-server-close",
        "agrees",
        "not yet run",
    ] {
        assert!(html.contains(inside), "{inside}");
    }
}

#[test]
fn what_results_hold_is_shown_and_never_obeyed() {
    let mut hostile = synthetic::headline();
    let bad = "<script>alert('1')</script>|\"`*";
    hostile.document.command = vec![bad.into()];
    hostile.document.machine.kernel = bad.into();
    hostile.document.endpoints[1].label = bad.into();
    hostile.document.endpoints[1].config = Some(format!("```\n{bad}\n</pre>"));
    hostile.document.cells[1].summary.verdict.because = bad.into();
    hostile.document.cells[1].summary.excluded_because = vec![bad.into()];
    let (html, markdown) = made(&hostile);
    well_formed(&html);
    assert!(!html.contains("<script") && html.contains("&lt;script&gt;"));
    // Outside the fenced configuration no tag is left as it was.
    let fenced = markdown.find("````\n").unwrap();
    assert!(!markdown[..fenced].contains("<script>"));
    assert!(markdown[fenced..].contains("</pre>\n````"));
}

#[test]
fn without_raw_runs_it_says_what_is_missing() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::headline().write(folder.path());
    fs::remove_file(folder.path().join("runs.ndjson")).unwrap();
    let (out, output) = report(folder.path());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("runs.ndjson is not in the folder"));
    let html = fs::read_to_string(out.join("report.html")).unwrap();
    well_formed(&html);
    assert!(html.contains("The charts need runs.ndjson"));
    assert!(!html.contains("<svg class=\"slope\"") && html.contains("<svg class=\"spread\""));
}

#[test]
fn a_cut_last_line_is_told_and_the_rest_is_used() {
    let folder = tempfile::tempdir().unwrap();
    synthetic::headline().write(folder.path());
    let path = folder.path().join("runs.ndjson");
    let text = fs::read(&path).unwrap();
    fs::write(&path, &text[..text.len() - 40]).unwrap();
    let (out, output) = report(folder.path());
    assert_eq!(status(&output), 0, "{}", stderr(&output));
    let said = stderr(&output);
    assert!(
        said.contains("The last line of runs.ndjson is cut; the 5 runs before it are used."),
        "{said}"
    );
    assert!(said.contains("results.json counts 6 runs, runs.ndjson holds 5"), "{said}");
    assert!(fs::read_to_string(out.join("report.html")).unwrap().contains("is cut"));
}

/// One line on standard error, nothing on standard output, status 2.
fn refused(folder: &Path, says: &str) {
    let (out, output) = report(folder);
    let said = stderr(&output);
    assert_eq!(status(&output), 2, "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.starts_with("holdup: ") && said.contains(says), "{says}: {said}");
    assert!(output.stdout.is_empty() && !out.exists());
}

#[test]
fn bad_input_is_one_line_and_status_2() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    refused(path, "holds no results.json: give the folder");
    refused(&path.join("nowhere"), "holds no results.json");
    let good = synthetic::headline();
    good.write(path);
    let results = path.join("results.json");
    let text = fs::read_to_string(&results).unwrap();
    fs::write(&results, text.replace("holdup.results/1", "holdup.results/9")).unwrap();
    refused(path, "its schema is \"holdup.results/9\"");
    fs::write(&results, &text[..text.len() / 2]).unwrap();
    refused(path, "not a results document: EOF");
    fs::write(&results, text.replace("\"runs\": 3", "\"runs\": \"many\"")).unwrap();
    refused(path, "not a results document: invalid type");
    fs::write(&results, b"\xff\xfe").unwrap();
    refused(path, "it is not text");
    fs::write(&results, text.replace("\"frames\": 41", "\"frames\": 4000000000")).unwrap();
    refused(path, "the script of direct/");
    fs::write(&results, text.replace("\"median\": 207020", "\"median\": 2020")).unwrap();
    refused(path, "does not follow from runs.ndjson: TTFT of haproxy/");
    fs::remove_file(&results).unwrap();
    refused(path, "holds runs.ndjson but no results.json");
    fs::write(&results, &text).unwrap();
    let runs = fs::read_to_string(path.join("runs.ndjson")).unwrap();
    fs::write(path.join("runs.ndjson"), runs.replacen("\"cell\"", "\"sell\"", 1)).unwrap();
    refused(path, "runs.ndjson, line 1: missing field `cell`");
}

/// Cuts and changes at many places: a report or one line, never a panic.
#[test]
fn no_damage_makes_it_panic() {
    let folder = tempfile::tempdir().unwrap();
    let good = synthetic::headline();
    good.write(folder.path());
    let names = ["results.json", "runs.ndjson"];
    let whole = names.map(|name| fs::read(folder.path().join(name)).unwrap());
    // A fixed sequence: a failure can be played again.
    let mut state = 0x9e37_79b9_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    for round in 0..120 {
        let which = round % 2;
        let mut bytes = whole[which].clone();
        match random(3) {
            0 => bytes.truncate(random(bytes.len())),
            1 => {
                let at = random(bytes.len());
                bytes[at] = b"09-\"{}[],e\n\0\xff"[random(13)];
            }
            _ => {
                // A number grows beyond every bound.
                let at = random(bytes.len());
                if let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit) {
                    bytes.splice(at + digit..at + digit, *b"99999999999999");
                }
            }
        }
        fs::write(folder.path().join(names[which]), &bytes).unwrap();
        let (_, output) = report(folder.path());
        let said = stderr(&output);
        assert!(matches!(status(&output), 0 | 2), "round {round}: {said}");
        assert!(!said.contains("panicked"), "round {round}: {said}");
        fs::write(folder.path().join(names[which]), &whole[which]).unwrap();
    }
}

#[test]
fn synthetic_results_with_a_browser_follow_the_schema() {
    for synthetic in [synthetic::headline(), synthetic::browser()] {
        let value = serde_json::to_value(&synthetic.document).unwrap();
        valid(&value).unwrap();
        made(&synthetic);
    }
}

#[test]
fn the_schema_refuses_what_is_none() {
    let good = serde_json::to_value(synthetic::browser().document).unwrap();
    let without = |key: &str| {
        let mut value = good.clone();
        value.as_object_mut().unwrap().remove(key);
        value
    };
    for key in ["schema", "seed", "machine", "guards", "endpoints", "cells"] {
        assert!(valid(&without(key)).is_err(), "{key}");
    }
    let mut later = good.clone();
    later["schema"] = "holdup.results/2".into();
    assert!(valid(&later).is_err());
    let mut unnamed = good.clone();
    unnamed["cells"][0]["verdict"]["name"] = "fine".into();
    assert!(valid(&unnamed).is_err());
    let mut more = good;
    more["cells"][0]["a_later_field"] = 1.into();
    assert_eq!(valid(&more), Ok(()), "fields may be added");
}

#[test]
fn what_measure_prints_follows_the_schema_and_can_be_reported() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("results");
    let output = run(&[
        "measure",
        "--runs",
        "1",
        "--endpoints",
        "direct,haproxy",
        "--json",
        "--out",
        out.to_str().unwrap(),
    ]);
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    valid(&printed).unwrap();
    let (made, reported) = report(&out);
    assert_eq!(status(&reported), 0, "{}", stderr(&reported));
    let html = fs::read_to_string(made.join("report.html")).unwrap();
    well_formed(&html);
    if !skipped(&document(&output)) {
        assert!(html.contains("haproxy holds them up: corked"));
    }
}

/// Every element is closed by its own tag, in order; attributes are quoted.
fn well_formed(html: &str) {
    let mut open: Vec<&str> = Vec::new();
    let mut rest = html.strip_prefix("<!DOCTYPE html>\n").unwrap();
    while let Some(at) = rest.find('<') {
        assert!(!rest[..at].contains('>'), "a stray bracket: {}", &rest[..at]);
        let end = at + rest[at..].find('>').unwrap();
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap();
        if tag.starts_with('/') {
            assert_eq!(
                open.pop(),
                Some(name),
                "closed out of order near {}",
                &rest[..rest.len().min(80)]
            );
        } else if !tag.ends_with('/') {
            open.push(name);
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        if tag == "style" {
            rest = &rest[rest.find("</style>").unwrap()..];
        }
    }
    assert!(open.is_empty(), "left open: {open:?}");
}
