//! Bodies: what is sent, and what is refused before anything is.

use super::*;
use clap::Parser;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    probe: Probe,
}

fn options(arguments: &[&str]) -> Probe {
    Line::parse_from([&["probe", "http://127.0.0.1:1/x"], arguments].concat()).probe
}

fn bodies(arguments: &[&str], shape: Shape) -> Vec<Value> {
    let sent = sent(&options(arguments), Some(shape)).unwrap();
    sent.bodies.iter().map(|body| serde_json::from_slice(body).unwrap()).collect()
}

fn refused(arguments: &[&str], shape: Option<Shape>) -> String {
    sent(&options(arguments), shape).unwrap_err().to_string()
}

#[test]
fn each_shape_has_its_place_for_a_prompt() {
    let asked = ["--model", "m", "--prompt", "why?"];
    for (shape, body) in [
        (
            Shape::OpenaiChat,
            json!({"model": "m", "stream": true, "stream_options": {"include_usage": true},
                   "messages": [{"role": "user", "content": "why?"}]}),
        ),
        (Shape::OpenaiResponses, json!({"model": "m", "stream": true, "input": "why?"})),
        (
            Shape::Anthropic,
            json!({"model": "m", "stream": true, "max_tokens": 1024,
                   "messages": [{"role": "user", "content": "why?"}]}),
        ),
        (Shape::OllamaGenerate, json!({"model": "m", "stream": true, "prompt": "why?"})),
        (Shape::Gemini, json!({"contents": [{"role": "user", "parts": [{"text": "why?"}]}]})),
    ] {
        assert_eq!(bodies(&asked, shape), [body], "{shape}");
    }
}

#[test]
fn prompts_take_the_place_of_the_last_one_in_a_body() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("prompts");
    std::fs::write(&file, "one\n\n{\"prompt\": \"two\"}\n{\"model\": \"own\", \"stream\": true}\n")
        .unwrap();
    let body = r#"{"model": "m", "stream": true, "messages": [{"role": "system", "content": "s"},
                   {"role": "user", "content": "old"}]}"#;
    let found = bodies(&["--body", body, "--prompts", file.to_str().unwrap()], Shape::OpenaiChat);
    assert_eq!(found[0]["messages"][0]["content"], "s");
    let said = |index: usize| found[index]["messages"][1]["content"].clone();
    assert_eq!((said(0), said(1)), (json!("one"), json!("two")));
    assert_eq!(found[2], json!({"model": "own", "stream": true}));
}

#[test]
fn a_body_is_sent_as_it_is_and_told_when_it_asks_for_no_stream() {
    let text = r#"{ "model":"m",  "messages":[{"role":"user","content":"a long question"}] }"#;
    let sent = sent(&options(&["--body", text]), Some(Shape::OpenaiChat)).unwrap();
    assert_eq!(sent.bodies, [text.as_bytes()]);
    assert_eq!(sent.prompts, ["a long question"]);
    assert!(sent.notes[0].contains("will come whole"), "{:?}", sent.notes);
    let plain = super::sent(&options(&["--body", "a=b"]), None).unwrap();
    assert_eq!((plain.bodies, plain.fields), (vec![b"a=b".to_vec()], vec![]));
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("body.json");
    std::fs::write(&file, "{\n  \"model\": \"m\",\n  oops\n}").unwrap();
    let said = refused(&["--body-file", file.to_str().unwrap()], Some(Shape::OpenaiChat));
    assert!(said.contains("is no JSON, which openai-chat wants"), "{said}");
    assert!(said.ends_with("at line 3 column 3"), "{said}");
    let said = refused(&["--prompt", "x"], None);
    assert!(
        said.starts_with("a prompt needs a shape to be put into: --shape openai-chat|"),
        "{said}"
    );
    let said = refused(&["--prompt", "x"], Some(Shape::OpenaiChat));
    assert_eq!(said, "openai-chat wants a model: give --model NAME, or a body");
    let said = refused(&["--body", "[1]"], Some(Shape::Gemini));
    assert_eq!(said, "--body is no JSON object, which gemini wants");
    let said = refused(&["--model", "m"], Some(Shape::Gemini));
    assert!(said.starts_with("--model without a prompt"), "{said}");
    std::fs::write(&file, "fine\n{\"a\": }").unwrap();
    let said = refused(&["--prompts", file.to_str().unwrap()], Some(Shape::OpenaiChat));
    assert!(said.ends_with("line 2, column 7: no JSON object"), "{said}");
}

#[test]
fn paths_are_known_by_their_ends() {
    for (path, shape) in [
        ("/v1/chat/completions", Some(Shape::OpenaiChat)),
        ("/openai/deployments/x/chat/completions", Some(Shape::OpenaiChat)),
        ("/v1beta/models/m:streamGenerateContent", Some(Shape::Gemini)),
        ("/api/generate", Some(Shape::OllamaGenerate)),
        ("/stream", None),
    ] {
        assert_eq!(shape_of_path(path), shape, "{path}");
    }
}
