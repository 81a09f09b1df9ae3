//! A story of the page, run by `browse` and told for each browser from its own rows.

use measure::page::{Settings, SettingsError};
use measure::results::{CellResult, Document};
use measure::story::{self, Telling};

use crate::cli;
use crate::exit::{Exit, Problem};
use crate::out::say;

/// The settings that play a story, as often as the command says.
pub(super) fn settings(name: &str, options: &cli::Browse) -> Result<Settings, Problem> {
    let story = story::of(name)
        .ok_or_else(|| Problem::usage(SettingsError::Story(name.chars().take(40).collect())))?;
    Ok(Settings { runs: options.runs, seed: cli::seed(options.seed), go: true, ..story.settings() })
}

/// Tells the story of the settings, if they are one's, for each browser in the document; the
/// status says whether every browser showed it. Beside JSON it goes to standard error.
pub(super) fn tell(settings: &Settings, document: &Document, json: bool, exit: Exit) -> Exit {
    let Some(story) = settings.story.as_deref().and_then(story::of) else { return exit };
    let mut engines: Vec<&str> = Vec::new();
    for engine in document.cells.iter().filter_map(|row| row.cell.engine.as_deref()) {
        if !engines.contains(&engine) {
            engines.push(engine);
        }
    }
    let mut exit = exit;
    for engine in engines {
        let own = |row: &&CellResult| row.cell.engine.as_deref().is_none_or(|own| own == engine);
        let rows: Vec<CellResult> = document.cells.iter().filter(own).cloned().collect();
        let told = story.tell(&rows);
        let (word, worse) = match told {
            Telling::Shown(_) => ("shown", exit),
            Telling::NotShown(_) => ("not shown", Exit::Found),
            Telling::Nothing(_) => ("nothing to tell", Exit::Void),
        };
        // What is wrong already is not made right by a story.
        if exit == Exit::Done {
            exit = worse;
        }
        let text = format!("{} in {engine}: {word}. {}", story.title, told.text());
        if json {
            eprintln!("{text}");
        } else {
            say!("{text}");
        }
    }
    exit
}
