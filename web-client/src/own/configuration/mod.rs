//! The page of one's own configuration: it is pasted or dropped, and the way of a request through
//! it is told, with the wrong turn, the cure, and both measured.
//!
//! The flow: [`form`] says what is asked; [`asking`] takes it to the doctor's reader on this
//! machine and [`answer`] reads what it says; [`state`] holds it, [`view`], [`way`] and [`proof`]
//! show it.

pub mod answer;
mod asking;
mod form;
mod proof;
pub mod state;
mod view;
mod way;

use wasm_bindgen::JsCast;
use web_sys::{DragEvent, Element, Event, FileList, HtmlInputElement, KeyboardEvent};

use crate::browser;
use crate::guard::Listener;
use crate::takeaway::files;
use crate::view::place::{By, document, find, put};
use answer::Fault;
use state::Page;

/// Where this page is served.
const PATH: &str = "/configuration";

/// Whether the address is this page's.
pub fn is_asked() -> bool {
    let path = web_sys::window().and_then(|window| window.location().pathname().ok());
    path.as_deref() == Some(PATH)
}

/// Puts the page in place of the shell's loading text.
pub fn open() {
    let Some(shell) = find("#shell") else { return };
    shell.set_id("");
    shell.set_class_name("whole");
    put(&shell, By::Markup, &view::markup());
    let page = Page::new();
    page.keep(listen(&page));
    view::show(&page);
}

fn listen(page: &Page) -> Vec<Listener> {
    let Some(document) = document() else { return Vec::new() };
    let on = |name: &'static str, act: fn(&Page, Event)| {
        let page = page.clone();
        Listener::new(&document, name, move |event| act(&page, event))
    };
    vec![
        on("click", |page, event| {
            let target = event.target().and_then(|target| target.dyn_into::<Element>().ok());
            let button = target.and_then(|target| target.closest("[data-act]").ok().flatten());
            if let Some(button) = button {
                act(page, &button);
            }
        }),
        // A form that is sent would leave the page.
        on("submit", |page, event| {
            event.prevent_default();
            asking::read(page);
        }),
        on("keydown", |page, event| {
            let event: KeyboardEvent = event.unchecked_into();
            match event.key().as_str() {
                "Enter" if event.ctrl_key() || event.meta_key() => asking::read(page),
                "Escape" => page.stop(),
                _ => {}
            }
        }),
        on("change", |page, event| {
            let field = event.target().and_then(|own| own.dyn_into::<HtmlInputElement>().ok());
            let Some(field) = field.filter(|field| field.id() == "conf-file") else { return };
            bring(page, field.files());
            // The same file may be chosen again.
            field.set_value("");
        }),
        on("dragover", |_, event| {
            if carries_files(&event) {
                // Only what is not left to the browser may be dropped.
                event.prevent_default();
                mark_drag(true);
            }
        }),
        on("dragleave", |_, event| {
            let event: DragEvent = event.unchecked_into();
            if event.related_target().is_none() {
                mark_drag(false);
            }
        }),
        on("drop", |page, event| {
            if carries_files(&event) {
                event.prevent_default();
                mark_drag(false);
                let event: DragEvent = event.unchecked_into();
                bring(page, event.data_transfer().and_then(|transfer| transfer.files()));
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
    if let Some(root) = find("html") {
        // Only the style sheet looks at it.
        let _ = root.toggle_attribute_with_force("data-dragging", on);
    }
}

/// Takes a file's text into the field.
fn bring(page: &Page, list: Option<FileList>) {
    let Some(file) = list.and_then(|list| list.get(0)) else { return };
    let page = page.clone();
    browser::spawn(async move {
        let text = match form::too_large(file.size() as usize) {
            Some(why) => Err(why),
            None => files::text(&file).await,
        };
        match text {
            Ok(text) if text.contains('\0') => {
                let why = [&file.name(), " holds zero bytes: is it a configuration?"].concat();
                page.fail(Fault::text(&why));
            }
            Ok(text) => {
                form::set("text", &text);
                form::set("product", "");
                let said = [&file.name(), " is in the field. Say the path, and read."].concat();
                page.change(|state| {
                    state.fault = None;
                    state.said = said;
                });
                form::focus("path");
            }
            Err(why) => page.fail(Fault::text(&why)),
        }
    });
}

fn act(page: &Page, button: &Element) {
    let data = |name: &str| button.get_attribute(name).unwrap_or_default();
    match data("data-act").as_str() {
        "read" => asking::read(page),
        "measure" => asking::measure(page),
        "stop" => page.stop(),
        "marked" => asking::marked(page),
        "example" => {
            form::example();
            asking::read(page);
        }
        "choose" => {
            form::set("host", &data("data-host"));
            form::set("port", &data("data-port"));
            asking::read(page);
        }
        "copy" => copy(page),
        "corrected" => {
            let text = page.look(|state| state.story.as_ref()?.corrected.clone());
            if let Some(text) = text {
                keep(page, "corrected.conf", &text);
            }
        }
        _ => {}
    }
}

/// Hands a text out as a file.
fn keep(page: &Page, name: &str, text: &str) {
    let Some(document) = document() else { return };
    let kept = files::download(&document, name, "text/plain", text);
    let masked = if text.contains("***") {
        ": what is secret is masked as ***, put yours back before it is run."
    } else {
        "."
    };
    let said = match kept {
        Ok(()) => [name, masked].concat(),
        Err(why) => why,
    };
    page.change(|state| state.said = said);
}

fn copy(page: &Page) {
    let Some(text) = page.look(|state| state.story.as_ref()?.block.clone()) else { return };
    let page = page.clone();
    browser::spawn(async move {
        let said = match files::copy(&text).await || copy_shown() {
            true => "The block is on the clipboard.",
            false => "This page is given no clipboard: the block is selected, copy it.",
        };
        page.change(|state| state.said = said.into());
    });
}

/// Copies the shown block the way that pages without a clipboard have.
fn copy_shown() -> bool {
    let Some(document) = document() else { return false };
    let (Some(block), Ok(Some(selection))) = (find(".block-text"), document.get_selection()) else {
        return false;
    };
    selection.select_all_children(&block).is_ok() && files::copy_selected(&document)
}
