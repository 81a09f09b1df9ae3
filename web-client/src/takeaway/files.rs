//! Files and the clipboard, as the browser has them.

use js_sys::{Array, Reflect};
use wasm_bindgen::{JsCast, JsValue};
use wasm_bindgen_futures::JsFuture;
use web_sys::{Blob, BlobPropertyBag, Document, File, HtmlElement, Url};

use super::import;
use crate::browser::{self, describe};
use crate::view::markup::filled;

/// How long a file stays to be fetched by the browser that was told of it: some ask the user first
/// where to put it, and fetch it then.
const KEPT_FOR_MS: u32 = 60_000;

/// Hands a text to the browser as a file to keep.
///
/// # Errors
/// What the browser says.
pub fn download(document: &Document, name: &str, kind: &str, text: &str) -> Result<(), String> {
    let attempt = || -> Result<(), JsValue> {
        let options = BlobPropertyBag::new();
        options.set_type(kind);
        let parts = Array::of1(&JsValue::from_str(text));
        let blob = Blob::new_with_str_sequence_and_options(&parts, &options)?;
        let url = Url::create_object_url_with_blob(&blob)?;
        let link = document.create_element("a")?;
        link.set_attribute("href", &url)?;
        link.set_attribute("download", name)?;
        link.unchecked_into::<HtmlElement>().click();
        browser::spawn(async move {
            gloo_timers::future::TimeoutFuture::new(KEPT_FOR_MS).await;
            // Fails only for an address that is none.
            let _ = Url::revoke_object_url(&url);
        });
        Ok(())
    };
    attempt().map_err(|error| describe(&error))
}

/// Puts a text on the clipboard, where the browser has one for this page.
pub async fn copy(text: &str) -> bool {
    let Some(window) = web_sys::window() else { return false };
    // Pages that came over plain HTTP from another machine have none.
    let name = JsValue::from_str("clipboard");
    let clipboard = Reflect::get(&window.navigator(), &name).unwrap_or_default();
    if clipboard.is_undefined() || clipboard.is_null() {
        return false;
    }
    let clipboard: web_sys::Clipboard = clipboard.unchecked_into();
    JsFuture::from(clipboard.write_text(text)).await.is_ok()
}

/// Copies what is selected, the way that pages without a clipboard have.
pub fn copy_selected(document: &Document) -> bool {
    let Ok(command) = Reflect::get(document, &JsValue::from_str("execCommand")) else {
        return false;
    };
    let Some(command) = command.dyn_ref::<js_sys::Function>() else { return false };
    command.call1(document, &JsValue::from_str("copy")).is_ok_and(|done| done.is_truthy())
}

/// A file's text.
///
/// # Errors
/// A sentence for people: it is too large, or cannot be read.
pub async fn text(file: &File) -> Result<String, String> {
    let name = file.name();
    import::check_size(&name, file.size())?;
    match JsFuture::from(file.text()).await {
        Ok(text) => Ok(text.as_string().unwrap_or_default()),
        Err(error) => {
            let name = import::shortened(&name);
            Err(filled("¤ could not be read: ¤.", &[&name, &describe(&error)]))
        }
    }
}
