//! The questions of a plan, one at a time.

use gloo_timers::future::TimeoutFuture;
use measure::FrameMark;

use super::answer::Figures;
use super::ask::Plan;
use super::judge::Side;
use super::model::{Answer, Model, Phase};
use super::reading::{self, Asking, Refused};
use super::seen::Seen;
use super::words::{self, Trouble};
use crate::json::Writing;
use crate::watch::PageWatch;
use crate::{api, browser};

/// Between two answers the page draws and the connections close: nothing of it is to fall into
/// the next one.
const PAUSE_MS: u32 = 150;
/// Before one it draws what is begun, so that this is not taken for a busy page.
const SETTLE_MS: u32 = 60;

/// Asks everything that a plan asks.
pub async fn run(model: Model, plan: Plan) {
    if model.look(|state| state.is_running()) {
        return;
    }
    model.begin();
    model.change(|state| {
        state.targets.clone_from(&plan.targets);
        state.plan = Some(plan);
        state.answers.clear();
        state.live = None;
        state.fault = None;
        state.said.clear();
        state.phase = Phase::Running(0);
    });
    go_on(model).await;
}

/// The person means the address that the gateway asked about.
pub async fn confirmed(model: Model) {
    let url = model.change(|state| {
        let Phase::Confirm { shown, .. } = &state.phase else { return None };
        let url = shown.clone();
        state.phase = Phase::Running(state.answers.len());
        Some(url)
    });
    let Some(url) = url else { return };
    match reading::call("/gateway/confirm", Some(&Writing::new().put("url", url))).await {
        Ok((204, _)) => go_on(model).await,
        Ok((_, said)) => {
            let json = crate::json::Json::parse(&said);
            let said = json.map(|json| json.text("error")).unwrap_or(said);
            fail(model, &said);
        }
        Err(error) => fail(model, &error),
    }
}

/// Goes on where it stands.
async fn go_on(model: Model) {
    while let Some(turn) = model.look(|state| {
        state.plan.as_ref().and_then(|plan| plan.turns.get(state.answers.len()).copied())
    }) {
        if model.is_stopping() {
            break;
        }
        match ask(model, turn).await {
            Ok(answer) => model.change(|state| {
                state.live = None;
                state.take(answer);
                state.phase = Phase::Running(state.answers.len());
            }),
            Err(Refused::Stopped) => break,
            Err(Refused::Confirm(said)) => {
                return model.change(|state| {
                    state.live = None;
                    let shown = state.targets[turn.0].shown.clone();
                    state.phase = Phase::Confirm { said, shown };
                });
            }
            Err(Refused::Redirect) => {
                return fail(
                    model,
                    "It answers with a redirect, and a browser does not say to where. That was \
                     not followed: ask through the gateway to see the address.",
                );
            }
            Err(Refused::Blocked) => {
                let headers =
                    model.look(|state| state.plan.as_ref().map(|plan| plan.headers(turn.0)));
                let why = words::blocked(&browser::origin(), &headers.unwrap_or_default());
                return fail(model, &why);
            }
            Err(Refused::Said(why)) => return fail(model, &why),
        }
        TimeoutFuture::new(PAUSE_MS).await;
    }
    model.change(|state| {
        state.live = None;
        let whole = state.answers.len() == state.planned();
        state.phase = if whole { Phase::Finished } else { Phase::Stopped };
    });
}

fn fail(model: Model, why: &str) {
    let why = crate::words::sentence(why);
    model.change(|state| {
        state.live = None;
        state.phase = Phase::Failed(why);
    });
}

/// Asks one question.
async fn ask(model: Model, turn: (usize, usize, u32)) -> Result<Answer, Refused> {
    let said = |error: String| Refused::Said(error);
    let clock = api::sync(model.step()).await.map_err(|error| said(error.to_string()))?;
    let plan = model.look(|state| state.plan.clone()).ok_or(Refused::Stopped)?;
    let run = browser::run_id().map_err(said)?;
    let asking = Asking::new().map_err(said)?;
    model.may_abort(Some(asking.controller()));
    model.change(|state| {
        state.clock = Some(clock);
        state.live = Some((turn.0, asking.log.clone()));
    });
    TimeoutFuture::new(SETTLE_MS).await;
    let watch = PageWatch::start();
    let read = asking.read(&plan, (turn.0, turn.1), run).await;
    let state = watch.finish(0);
    model.may_abort(None);
    read?;
    if model.is_stopping() {
        // What was cut by hand says nothing of the endpoint.
        return Err(Refused::Stopped);
    }
    let page = asking.log.borrow().page.clone();
    let seen = if plan.direct { None } else { Some(reading::seen_of(run).await.map_err(said)?) };
    let marks: Vec<FrameMark> = match &seen {
        Some(seen) => seen.arrivals.frames().map(|(_, mark)| *mark).collect(),
        None => page.marks.clone(),
    };
    let mut arrivals = page.arrivals(run, clock, &marks);
    if let Some(seen) = &seen {
        // What the page was told by the gateway is the gateway's.
        arrivals.status = seen.arrivals.status;
        arrivals.content_type.clone_from(&seen.arrivals.content_type);
    }
    let trouble = words::of_answer(&page, seen.as_ref());
    let notes = notes(&plan, turn.0, &page, seen.as_ref());
    let own = Figures::of(&arrivals, page.token());
    let wire = seen.as_ref().map(|seen| Figures::of(&seen.arrivals, seen.token));
    Ok(Answer {
        turn,
        run,
        page,
        seen,
        arrivals,
        state,
        wire,
        own,
        trouble,
        notes,
        side: Side::Unknown,
        finding: None,
    })
}

fn notes(
    plan: &Plan,
    target: usize,
    page: &super::answer::Page,
    seen: Option<&Seen>,
) -> Vec<String> {
    let mut notes: Vec<String> = words::wrong_type(page, seen).into_iter().collect();
    if plan.direct && !shows_timings(&plan.targets[target].url) {
        notes.push(words::no_timings(&browser::origin()));
    }
    notes
}

/// Whether the browser shows its own timings of a request: without leave it shows zeros.
fn shows_timings(url: &str) -> bool {
    let Some(clock) = web_sys::window().and_then(|window| window.performance()) else {
        return false;
    };
    let entries = clock.get_entries_by_name(url);
    let last = entries.get(entries.length().saturating_sub(1));
    let began = js_sys::Reflect::get(&last, &"requestStart".into()).ok();
    let shown = began.and_then(|value| value.as_f64()).is_some_and(|at| at > 0.0);
    browser::clear_requests();
    shown
}

/// A trouble's text in one.
pub fn told(trouble: &Trouble) -> String {
    [&trouble.what, ". ", &trouble.so].concat()
}
