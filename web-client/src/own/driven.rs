//! Without a hand: `holdup browse --target` gives the page its plan, and takes what it measured.
//! The address holds a name that is good for one go, and never a key.

use js_sys::Reflect;

use super::ask::{Fields, Plan};
use super::model::{Model, Phase};
use super::{reading, runner, takeaway};
use crate::browser;
use crate::json::{Json, Writing};

/// The name of the go in the address, if a command waits for this page.
pub fn name() -> Option<String> {
    let pairs = browser::query_pairs(&browser::search()).ok()?;
    pairs.into_iter().find(|(key, _)| key == "go").map(|(_, value)| value)
}

/// Fetches the plan, asks what it asks, and posts what came of it.
pub async fn go(model: Model, name: String) {
    let path = |what: &str| ["/gateway/", what, "/", &name].concat();
    let came = match reading::call(&path("plan"), None).await {
        Ok((200, text)) => Json::parse(&text).and_then(|json| json.whole(fields)),
        Ok((status, _)) => Err(format!("there is no plan here ({status})")),
        Err(error) => Err(error),
    };
    let plan = came.and_then(|fields| Plan::of(&fields).map_err(|(_, why)| why));
    let failed = match plan {
        Ok(plan) => {
            runner::run(model, plan).await;
            model.look(|state| match &state.phase {
                Phase::Failed(why) => Some(why.clone()),
                Phase::Confirm { said, .. } => Some(said.clone()),
                _ => None,
            })
        }
        Err(why) => {
            model.change(|state| state.phase = Phase::Failed(why.clone()));
            Some(why)
        }
    };
    let document = js_sys::JSON::parse(&takeaway::document(model, false)).unwrap_or_default();
    let post = Writing::new().put("document", document);
    let post = match failed {
        Some(why) => post.put("failed", why),
        None => post,
    };
    // Who waits for it has a limit of its own.
    let _ = reading::call(&path("results"), Some(&post)).await;
}

/// The command's plan as the form's fields.
fn fields(json: &Json) -> Fields {
    let text = |name: &str| {
        Reflect::get(&json.value, &name.into()).ok().and_then(|value| value.as_string())
    };
    let given = |name: &str| text(name).unwrap_or_default();
    Fields {
        addresses: [json.text("url"), String::new()],
        same: false,
        shape: given("shape"),
        model: given("model"),
        prompts: given("prompt"),
        body: text("body"),
        headers: given("headers"),
        key: given("key"),
        key_header: given("key_header"),
        direct: json.flag("direct"),
        repeats: json.small("runs"),
    }
}
