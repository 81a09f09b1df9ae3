//! What was found: the request's way with its wrong turn, what is in force, and the block to write.

use super::answer::{Station, Story};
use super::state::State;
use super::view::coded;
use crate::view::markup::{escaped, filled, joined};

/// The answer's markup; empty where there is none.
pub(super) fn markup(state: &State) -> String {
    let Some(story) = &state.story else { return String::new() };
    let who = match story.answer.as_str() {
        "found" => "path",
        "clean" => "nobody",
        _ => "unknown",
    };
    let product = match story.product.as_str() {
        "haproxy" => "HAProxy",
        "caddy" => "Caddy",
        "traefik" => "Traefik",
        "envoy" => "Envoy",
        _ => "nginx",
    };
    let mut markup = filled(
        "<div class=\"headline\" tabindex=\"-1\" data-who=\"¤\"><p class=\"verdict\">¤</p>\
         <p class=\"small\">Read as a configuration of ¤, for <code>¤</code></p></div>\
         <div class=\"halves\"><section><h2>The way of the request</h2><ol class=\"steps\">",
        &[who, &coded(&story.headline), product, &escaped(&state.question.path)],
    );
    for station in &story.way {
        step(&mut markup, station);
    }
    markup.push_str("</ol></section><section>");
    settings(&mut markup, story);
    for (title, lines) in &story.sections {
        if title != CHANGE {
            list(&mut markup, title, lines);
        }
    }
    markup.push_str("</section></div>");
    block(&mut markup, story);
    markup
}

/// Where the reader says what its block changes.
const CHANGE: &str = "What to change";

fn step(markup: &mut String, own: &Station) {
    let (class, look) = match (own.meant, own.look.as_str()) {
        (true, _) => ("meant", "the wrong turn"),
        (_, "passed") => ("passed", "passed over"),
        (_, "untried") => ("untried", "not tried"),
        (_, "detour") => ("detour", "on the way"),
        (_, "server") => ("server", "server"),
        (_, "remembered") => ("remembered", "remembered"),
        _ => ("chosen", "chosen"),
    };
    markup.push_str(&filled(
        "<li class=\"¤\" style=\"--depth:¤\"><p><code>¤</code> <span class=\"look\">¤</span></p>\
         <p class=\"why-so\">¤ <span class=\"place\">¤</span></p></li>",
        &[
            class,
            &own.depth.min(8).to_string(),
            &escaped(&own.what),
            look,
            &coded(&own.why),
            &escaped(&own.place),
        ],
    ));
}

fn settings(markup: &mut String, story: &Story) {
    if story.settings.is_empty() {
        return;
    }
    let by = match story.by.as_str() {
        "" => String::new(),
        by => filled(" <small>¤</small>", &[&escaped(by)]),
    };
    markup.push_str(&filled(
        "<h2>In force there¤</h2><table class=\"settings-there\"><tbody>",
        &[&by],
    ));
    for own in &story.settings {
        // Where a default is documented is said when somebody points at it.
        let (by, title) = match own.by.split_once(": ") {
            Some((by, _)) if by.starts_with("default") => (by, own.by.as_str()),
            _ => (own.by.as_str(), ""),
        };
        markup.push_str(&filled(
            "<tr class=\"¤\"><th scope=\"row\">¤</th><td><code>¤</code>¤</td>\
             <td class=\"place\" title=\"¤\">¤</td></tr>",
            &[
                if own.holds { "holds" } else { "" },
                &escaped(&own.name),
                &escaped(&own.value),
                if own.holds { "<span class=\"mark-holds\">holds</span>" } else { "" },
                &escaped(title),
                &escaped(by),
            ],
        ));
    }
    markup.push_str("</tbody></table>");
}

fn list(markup: &mut String, title: &str, lines: &[String]) {
    markup.push_str(&filled("<h2>¤</h2><ul class=\"said-of-it\">", &[&escaped(title)]));
    for line in lines {
        markup.push_str(&filled("<li>¤</li>", &[&coded(line)]));
    }
    markup.push_str("</ul>");
}

fn block(markup: &mut String, story: &Story) {
    let Some(block) = &story.block else { return };
    let whole = match &story.corrected {
        Some(_) => {
            "<button type=\"button\" id=\"keep-corrected\" data-act=\"corrected\">The whole, as a file</button>"
        }
        None => "",
    };
    let marked = match story.product.as_str() {
        "nginx" => {
            "<button type=\"button\" id=\"keep-marked\" data-act=\"marked\" title=\"Your \
             configuration with a header in each location that names it, to try on your own \
             server\">Yours, marked</button>"
        }
        _ => "",
    };
    markup.push_str(&joined(&[
        "<section class=\"cure\"><div class=\"bar\"><h2>The corrected block</h2><div class=\"controls\">\
         <button type=\"button\" id=\"copy-block\" data-act=\"copy\">Copy</button>",
        whole,
        marked,
        "</div></div><div class=\"halves\"><pre class=\"block-text\" tabindex=\"0\">",
        &escaped(block),
        "</pre><div>",
    ]));
    let changes = story.sections.iter().find(|(title, _)| title == CHANGE);
    if let Some((_, lines)) = changes {
        markup.push_str("<ul class=\"said-of-it\">");
        for line in lines {
            let (class, line) = match (line.strip_prefix("kept: "), line.strip_prefix("by hand: "))
            {
                (Some(kept), _) => ("kept", kept),
                (_, Some(by_hand)) => ("by-hand", by_hand),
                _ => ("", line.as_str()),
            };
            markup.push_str(&filled("<li class=\"¤\">¤</li>", &[class, &coded(line)]));
        }
        markup.push_str("</ul>");
    }
    markup.push_str("</div></div></section>");
}
