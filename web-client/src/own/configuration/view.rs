//! The page's frame, and what is shown in it of the state.

use wasm_bindgen::JsCast;
use web_sys::HtmlElement;

use super::answer::Fault;
use super::state::{Page, Phase, State};
use super::{form, proof, way};
use crate::view::markup::{escaped, filled, joined};
use crate::view::place::{By, find, put};

/// The page's markup.
pub(super) fn markup() -> String {
    joined(&[
        "<header class=\"top\"><div class=\"bar\"><h1>Which line is holding up your tokens?</h1>\
         <p class=\"progress\" role=\"status\"></p><div class=\"controls\">\
         <button type=\"button\" class=\"primary\" data-act=\"read\" \
         title=\"Reads the configuration (Ctrl-Enter)\">Read</button>\
         <button type=\"button\" data-act=\"stop\" title=\"Ends the proof (Escape)\">Stop</button>\
         <a class=\"way\" href=\"/own\">Your own endpoint</a>\
         <a class=\"way\" href=\"/\">The demo’s lanes</a></div></div>\
         <p class=\"notice bad\" role=\"alert\" hidden></p></header>\
         <div class=\"room own conf\"><aside class=\"side\">",
        &form::markup(),
        "</aside><main tabindex=\"-1\"><div class=\"state before\">\
         <p>Paste what your proxy was told, and say which path is streamed. You see which rule \
         answers it and why, what is in force there and who says so, what holds a stream, and the \
         block that does not.</p>\
         <p>Then both are measured: the pinned proxy runs your text and the corrected one on this \
         machine, each before an emitter that writes a frame every 50 ms.</p></div>\
         <div class=\"found\"></div><section class=\"proof\" aria-label=\"The proof\"></section>\
         </main></div>",
    ])
}

/// A text in which what stands between backticks is code.
pub(super) fn coded(text: &str) -> String {
    let mut markup = String::new();
    for (index, piece) in text.split('`').enumerate() {
        let piece = escaped(piece);
        if index % 2 == 1 {
            markup.push_str(&filled("<code>¤</code>", &[&piece]));
        } else {
            markup.push_str(&piece);
        }
    }
    markup
}

/// Shows the state.
pub(super) fn show(page: &Page) {
    page.look(|state| {
        let at = |selector: &str, by, text: &str| {
            if let Some(element) = find(selector) {
                put(&element, by, text);
            }
        };
        let flag = |holds: bool| if holds { "yes" } else { "" };
        at("html", By::Attribute("data-state"), state.phase.name());
        at(".progress", By::Text, &progress(state));
        at("[data-act=read]", By::Flag("disabled"), flag(state.phase.is_busy()));
        let stops = matches!(state.phase, Phase::Measuring(_));
        at("[data-act=stop]", By::Flag("disabled"), flag(!stops));
        at(".before", By::Flag("hidden"), flag(state.story.is_some()));
        let general = state.fault.as_ref().filter(|fault| !is_of_field(fault));
        at(".notice", By::Text, general.map_or("", |fault| &fault.why));
        at(".notice", By::Flag("hidden"), flag(general.is_none()));
        for name in form::FIELDS {
            let own = state.fault.as_ref().filter(|fault| fault.about == name);
            at(&["#why-", name].concat(), By::Markup, &own.map_or(String::new(), fault));
            let invalid = if own.is_some() { "true" } else { "false" };
            at(&["#conf-", name].concat(), By::Attribute("aria-invalid"), invalid);
        }
        // What has the focus has it again: only these two hold buttons.
        at(".found", By::Controls, &way::markup(state));
        at(".proof", By::Controls, &proof::markup(state));
    });
}

fn is_of_field(fault: &Fault) -> bool {
    form::FIELDS.contains(&fault.about.as_str())
}

fn progress(state: &State) -> String {
    match state.phase {
        Phase::Reading => "reading …".into(),
        Phase::Measuring(None) => "starting the proxies …".into(),
        Phase::Measuring(Some((done, of))) => {
            filled("run ¤ of ¤", &[&(done + 1).min(of).to_string(), &of.to_string()])
        }
        _ => state.said.clone(),
    }
}

/// A fault below its field: why, the line that is meant, what could be.
fn fault(fault: &Fault) -> String {
    let mut markup = filled("<p class=\"why\">¤</p>", &[&coded(&fault.why)]);
    if let Some((line, column, text)) = &fault.spot {
        // Tabs stay tabs, so that the mark stands below its place.
        let mark = column.filter(|column| *column as usize <= text.chars().count() + 1);
        let mark = mark.map_or(String::new(), |column| {
            let before = text.chars().take(column.saturating_sub(1) as usize);
            let blank: String = before.map(|own| if own == '\t' { own } else { ' ' }).collect();
            filled("\n<b>¤▲</b>", &[&blank])
        });
        markup.push_str(&filled(
            "<div class=\"spot\"><span>¤</span><pre>¤¤</pre></div>",
            &[&line.to_string(), &escaped(text), &mark],
        ));
    }
    if !fault.choices.is_empty() {
        markup.push_str("<ul class=\"choices\">");
        for (shown, host, port) in &fault.choices {
            markup.push_str(&filled(
                "<li><button type=\"button\" data-act=\"choose\" data-host=\"¤\" data-port=\"¤\">\
                 ¤</button></li>",
                &[&escaped(host), port, &escaped(shown)],
            ));
        }
        markup.push_str("</ul>");
    }
    markup
}

/// Brings a place into sight.
fn go_to(selector: &str) {
    if let Some(element) = find(selector) {
        element.scroll_into_view();
    }
}

/// Leads to the answer, for eyes and for who listens.
pub(super) fn to_answer() {
    let Some(headline) = find(".headline") else { return };
    // What cannot be focused is left alone.
    let _ = headline.unchecked_into::<HtmlElement>().focus();
    go_to(".top");
}

/// Leads to the proof.
pub(super) fn to_proof() {
    go_to(".proof");
}

/// Leads to what is at fault.
pub(super) fn to_fault(page: &Page) {
    page.look(|state| {
        let Some(fault) = &state.fault else { return };
        match &fault.spot {
            Some((line, _, _)) => form::select_line(*line),
            None if is_of_field(fault) => form::focus(&fault.about),
            None => go_to(".top"),
        }
    });
}
