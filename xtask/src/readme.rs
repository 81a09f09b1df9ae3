//! Figures in the README: made by the command that stands in the marker above them, never typed.

use std::fs;

use anyhow::{Context, Result, bail};

use crate::{cargo, show};

const README: &str = "README.md";
const BEGIN: &str = "<!-- begin: holdup ";
const END: &str = "<!-- end -->";

/// Runs each marked command and puts what it prints in place of what stood there.
pub(crate) fn regenerate() -> Result<()> {
    let text = fs::read_to_string(README).context(README)?;
    let replaced = replace(&text, |command| {
        let mut holdup = cargo(&["run", "--quiet", "--package", "holdup", "--"]);
        holdup.args(command.split(' '));
        let shown = show(&holdup);
        eprintln!("$ {shown}");
        let output = holdup.output().with_context(|| format!("cannot start {shown}"))?;
        if !output.status.success() {
            bail!("{shown}: {}", output.status);
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    })?;
    fs::write(README, replaced).context(README)
}

fn replace(text: &str, mut run: impl FnMut(&str) -> Result<String>) -> Result<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(BEGIN) {
        let (before, marked) = rest.split_at(at);
        let line = marked.lines().next().unwrap_or_default();
        let command = line.strip_prefix(BEGIN).and_then(|rest| rest.strip_suffix(" -->"));
        let command = command.with_context(|| format!("{line:?} is no whole marker"))?;
        let end = marked.find(END).with_context(|| format!("nothing ends {line:?}"))?;
        out.push_str(before);
        out.push_str(&format!("{line}\n```\n$ holdup {command}\n{}```\n", run(command)?));
        rest = &marked[end..];
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_command_printed_takes_the_place_of_what_stood_there() {
        let text = "a\n<!-- begin: holdup measure --runs 3 -->\nold\n<!-- end -->\nb\n";
        let once = replace(text, |command| Ok(format!("<{command}>\n"))).unwrap();
        assert_eq!(
            once,
            "a\n<!-- begin: holdup measure --runs 3 -->\n```\n$ holdup measure --runs 3\n<measure --runs 3>\n```\n<!-- end -->\nb\n"
        );
        assert_eq!(replace(&once, |command| Ok(format!("<{command}>\n"))).unwrap(), once);
        assert!(replace("<!-- begin: holdup x -->\n", |_| Ok(String::new())).is_err());
    }
}
