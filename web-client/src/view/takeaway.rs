//! What can be taken away, in one quiet place, and files that are brought to the page.

use measure::results::{CellResult, Document};
use wasm_bindgen::JsCast;
use web_sys::{
    DragEvent, Element, Event, File, FileList, HtmlElement, HtmlInputElement, HtmlTextAreaElement,
};

use crate::browser;
use crate::guard::Listener;
use crate::model::{Model, State};
use crate::takeaway::import::{self, Content};
use crate::takeaway::{document as results, files, markdown, picture, prose, runs, source};
use crate::view::markup::{filled, joined};
use crate::view::place::{By, Place, Scene, document, find, put};

/// The place at the end of the page.
pub(crate) const MARKUP: &str = "<section class=\"take\" aria-label=\"Take away\">\
    <h2>Take away</h2><div class=\"ways\">\
    <button type=\"button\" data-act=\"take\" data-key=\"results\" \
    title=\"All figures of this page as results.json, as holdup measure writes them\">\
    Results (JSON)</button>\
    <button type=\"button\" data-act=\"take\" data-key=\"picture\" \
    title=\"The lanes that are shown as an SVG file\">Picture (SVG)</button>\
    <button type=\"button\" data-act=\"take\" data-key=\"markdown\" \
    title=\"The figures as a table for a ticket or a chat\">Copy as Markdown</button>\
    <button type=\"button\" data-act=\"take\" data-key=\"link\" \
    title=\"The address that opens this page with these settings\">Copy the address</button>\
    <button type=\"button\" data-act=\"take\" data-key=\"open\" \
    title=\"Results of holdup measure or holdup browse; they can also be dropped on the page\">\
    Look at a results file …</button></div>\
    <input type=\"file\" id=\"take-file\" multiple accept=\".json,.ndjson,application/json\" \
    tabindex=\"-1\" aria-hidden=\"true\" hidden>\
    <p class=\"said\" role=\"status\"></p><div class=\"copy\" hidden>\
    <textarea readonly rows=\"4\" aria-label=\"Text to copy\"></textarea>\
    <button type=\"button\" data-act=\"take\" data-key=\"close\">Close</button></div></section>";

pub(crate) const PLACES: &[Place] = &[
    (".take [data-key=results]", By::Flag("disabled"), |scene| {
        // What was read from a file is a file already.
        unless(has_rows(scene) && !scene.model.sees_imported())
    }),
    (".take [data-key=picture]", By::Flag("disabled"), |scene| unless(may_take(scene))),
    (".take [data-key=markdown]", By::Flag("disabled"), |scene| unless(may_take(scene))),
    (".take [data-key=open]", By::Flag("disabled"), |scene| unless(!scene.state.is_running())),
];

/// A flag that is on unless something holds.
fn unless(holds: bool) -> String {
    if holds { String::new() } else { "yes".into() }
}

fn has_rows(scene: &Scene<'_>) -> bool {
    // Nothing is made while a stream is measured: it would keep the page from reading.
    !scene.state.is_running() && scene.state.rows.iter().any(|row| row.has_run())
}

fn may_take(scene: &Scene<'_>) -> bool {
    scene.model.sees_imported() || has_rows(scene)
}

/// A button of the place was pressed.
pub(crate) fn act(model: Model, key: &str) {
    close_copy();
    match key {
        "results" => {
            if let Some(document) = source::of_page(model) {
                keep("results.json", "application/json", &results::written(document));
            }
        }
        "picture" => match drawn(model) {
            Some(picture) => keep("holdup.svg", "image/svg+xml", &picture),
            None => say("There are no lanes to draw."),
        },
        "markdown" => {
            if let Some(markdown) = as_markdown(model) {
                copy(markdown, "The Markdown");
            }
        }
        "link" => copy(source::address(model), "The address"),
        "open" => {
            if let Some(input) = find("#take-file") {
                input.unchecked_into::<HtmlElement>().click();
            }
        }
        "live" => {
            model.show_live();
            say("");
            if let Some(button) = find(".take [data-key=open]") {
                focus(button);
            }
        }
        _ => say(""),
    }
}

fn as_markdown(model: Model) -> Option<String> {
    let imported =
        model.with_imported(|imported| markdown::of(&imported.document, &imported.results(), None));
    imported.or_else(|| {
        let (document, address) = (source::of_page(model)?, source::address(model));
        let rows: Vec<_> = document.cells.iter().collect();
        Some(markdown::of(&document, &rows, Some(&address)))
    })
}

fn drawn(model: Model) -> Option<String> {
    let page = document()?;
    let imported = model.with_imported(|imported| {
        let facts = said(&imported.document, &imported.results());
        filled("Not measured by this page: ¤ · ¤", &[&imported.name, &facts])
    });
    if let Some(facts) = imported {
        let words = picture::Words { answer: "", facts: &facts };
        return picture::of(&page, &find(".looked")?, &words);
    }
    let document = source::of_page(model)?;
    let facts = said(&document, &document.cells.iter().collect::<Vec<_>>());
    let answer = find(".answer p").and_then(|answer| answer.text_content()).unwrap_or_default();
    let words = picture::Words { answer: &answer, facts: &facts };
    picture::of(&page, &find(".lanes")?, &words)
}

fn said(document: &Document, rows: &[&CellResult]) -> String {
    let mut said = String::new();
    for (name, what) in prose::origin(document, rows) {
        let between = if said.is_empty() { "" } else { " · " };
        said.push_str(&filled("¤¤: ¤", &[between, name, &what]));
    }
    said
}

fn keep(name: &str, kind: &str, text: &str) {
    let Some(page) = document() else { return };
    match files::download(&page, name, kind, text) {
        Ok(()) => say(&joined(&[name, " was handed to the browser to keep."])),
        Err(why) => say(&joined(&["The browser does not keep ", name, ": ", &why, "."])),
    }
}

fn copy(text: String, what: &'static str) {
    browser::spawn(async move {
        if files::copy(&text).await || select_and_copy(&text) {
            say(&joined(&[what, " was copied."]));
        } else {
            say(&joined(&[
                what,
                " is selected below: copy it by hand. Browsers keep the clipboard from pages \
                 that come over plain HTTP from another machine.",
            ]));
        }
    });
}

/// Shows the text, selected, and copies it in the way that is left; whether that went well.
fn select_and_copy(text: &str) -> bool {
    let (Some(page), Some(place)) = (document(), find(".take .copy")) else { return false };
    // Fails only for a name that is none.
    let _ = place.remove_attribute("hidden");
    if let Some(area) = find(".take textarea") {
        let area: HtmlTextAreaElement = area.unchecked_into();
        area.set_value(text);
        area.select();
        focus(area.into());
    }
    let copied = files::copy_selected(&page);
    if copied {
        close_copy();
    }
    copied
}

fn close_copy() {
    if let Some(place) = find(".take .copy") {
        // Fails only for a name that is none.
        let _ = place.set_attribute("hidden", "");
    }
}

fn focus(element: Element) {
    // What cannot be focused is left alone.
    let _ = element.unchecked_into::<HtmlElement>().focus();
}

fn say(text: &str) {
    if let Some(said) = find(".take .said") {
        put(&said, By::Text, text);
    }
}

/// Listens for files that are chosen or dropped.
pub(crate) fn listen(model: Model) -> Vec<Listener> {
    let Some(document) = document() else { return Vec::new() };
    vec![
        Listener::new(&document, "change", move |event| chosen(model, &event)),
        Listener::new(&document, "dragover", |event| {
            if carries_files(&event) {
                // Only what is not left to the browser may be dropped.
                event.prevent_default();
                mark_drag(true);
            }
        }),
        Listener::new(&document, "dragleave", |event| {
            let event: DragEvent = event.unchecked_into();
            if event.related_target().is_none() {
                mark_drag(false);
            }
        }),
        Listener::new(&document, "drop", move |event| {
            if carries_files(&event) {
                event.prevent_default();
                mark_drag(false);
                let event: DragEvent = event.unchecked_into();
                bring(model, event.data_transfer().and_then(|transfer| transfer.files()));
            }
        }),
    ]
}

fn carries_files(event: &Event) -> bool {
    let event: &DragEvent = event.unchecked_ref();
    let types = event.data_transfer().map(|transfer| transfer.types());
    types.is_some_and(|types| types.iter().any(|own| own == "Files"))
}

fn mark_drag(on: bool) {
    let root = document().and_then(|document| document.document_element());
    if let Some(root) = root {
        // Only the style sheet looks at it.
        let _ = root.toggle_attribute_with_force("data-dragging", on);
    }
}

fn chosen(model: Model, event: &Event) {
    let field = event.target().and_then(|target| target.dyn_into::<HtmlInputElement>().ok());
    let Some(field) = field.filter(|field| field.id() == "take-file") else { return };
    let files = field.files();
    bring(model, files);
    // The same file may be chosen again.
    field.set_value("");
}

fn bring(model: Model, list: Option<FileList>) {
    let Some(list) = list else { return };
    let files: Vec<File> = (0..list.length()).filter_map(|index| list.get(index)).collect();
    if files.is_empty() {
        return;
    }
    if model.look(State::is_running) == Some(true) {
        return say("A plan is running: bring the file when it has ended.");
    }
    close_copy();
    say("Reading …");
    browser::spawn(async move {
        let said = match read(model, files).await {
            Ok(said) | Err(said) => said,
        };
        say(&said);
    });
}

/// Reads files and shows what they hold; what is to be said of it.
async fn read(model: Model, files: Vec<File>) -> Result<String, String> {
    let mut found: Option<(String, Box<Document>)> = None;
    let mut raw: Vec<(String, String)> = Vec::new();
    for file in files {
        let (name, text) = (file.name(), files::text(&file).await?);
        match import::content(&name, &text)? {
            Content::Document(_) if found.is_some() => {
                return Err("More than one results file: bring one at a time.".into());
            }
            Content::Document(document) => found = Some((name, document)),
            Content::Runs => raw.push((name, text)),
        }
    }
    let mut said = String::new();
    if let Some((name, document)) = found {
        let name = import::shortened(&name);
        said = joined(&[&name, " is shown: it was not measured by this page."]);
        model.show_document(name, *document);
    }
    for (name, text) in raw {
        said.push(' ');
        said.push_str(&add_runs(model, &import::shortened(&name), &text)?);
    }
    Ok(said.trim_ascii().into())
}

fn add_runs(model: Model, name: &str, text: &str) -> Result<String, String> {
    let runs = model.with_imported(|imported| {
        let runs = runs::read(text, &imported.results());
        if runs.known > 0 {
            return Ok(runs);
        }
        let why = "No run in ¤ is of a row of ¤: it belongs to other results.";
        Err(filled(why, &[name, &imported.name]))
    });
    let Some(runs) = runs.transpose()? else {
        return Err(filled(
            "¤ holds raw runs: bring the results.json that stands beside it first, or both at \
             once.",
            &[name],
        ));
    };
    model.add_imported_runs(&runs.chosen);
    let mut said = filled("¤ runs of ¤ are drawn, one a row.", &[&runs.known.to_string(), name]);
    for (count, what) in
        [(runs.foreign, " ¤ are of other rows."), (runs.broken, " ¤ cannot be read.")]
    {
        if count > 0 {
            said.push_str(&filled(what, &[&count.to_string()]));
        }
    }
    Ok(said)
}
