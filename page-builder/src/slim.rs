//! What the page need not download: exports that nobody calls, and the layout of the script.

use anyhow::{Context, Result};
use walrus::{Module, ModuleConfig, RawCustomSection};

/// Where wasm-bindgen keeps what its macros found, length-prefixed.
const RECORDS: &str = "__wasm_bindgen_unstable";
/// Classes that `wasm-streams` exports to JavaScript, as records and exports name them. The
/// framework links that crate for its server functions, which the page has none of; as exports
/// they would keep a twentieth of the module alive.
const UNCALLED: [&str; 2] = ["IntoUnderlying", "intounderlying"];

/// The module without the exports that nobody calls; what only they used goes in the linker's
/// collection afterwards.
pub(crate) fn module(bytes: &[u8]) -> Result<Module> {
    let mut module =
        ModuleConfig::new().generate_name_section(false).parse(bytes).context("no module")?;
    let uncalled: Vec<_> = module
        .exports
        .iter()
        .filter(|export| is_uncalled(export.name.as_bytes()))
        .map(|export| export.id())
        .collect();
    for export in uncalled {
        module.exports.delete(export);
    }
    if let Some(section) = module.customs.remove_raw(RECORDS) {
        let data = records(&section.data);
        module.customs.add(RawCustomSection { name: RECORDS.into(), data });
    }
    walrus::passes::gc::run(&mut module);
    Ok(module)
}

/// The records that do not belong to what nobody calls. Each is two: its schema, and itself.
fn records(mut data: &[u8]) -> Vec<u8> {
    let mut kept = Vec::new();
    while !data.is_empty() {
        let (schema, rest) = data.split_at(record_end(data));
        let (record, rest) = rest.split_at(record_end(rest));
        if !is_uncalled(record) {
            kept.extend_from_slice(schema);
            kept.extend_from_slice(record);
        }
        data = rest;
    }
    kept
}

/// Where the first record ends, its length of four bytes included.
fn record_end(data: &[u8]) -> usize {
    data.first_chunk().map_or(data.len(), |length| {
        (u32::from_le_bytes(*length) as usize).saturating_add(4).min(data.len())
    })
}

fn is_uncalled(name: &[u8]) -> bool {
    let within = |part: &str| name.windows(part.len()).any(|window| window == part.as_bytes());
    UNCALLED.into_iter().any(within)
}

/// Gives every import of the module that is in the script a short name in both: the generated
/// ones carry a hash each, which no compression shortens. Returns the script.
pub(crate) fn imports(names: Vec<&mut String>, script: &str) -> String {
    let mut script = script.to_string();
    for (index, name) in names.into_iter().enumerate() {
        // A name with its colon is that of one function; the hash makes it unique.
        let (long, short) = (format!("\n{name}: "), format!("\ni{index}: "));
        if name.starts_with("__wb") && script.matches(&long).count() == 1 {
            script = script.replace(&long, &short);
            *name = short.trim_matches(['\n', ':', ' ']).into();
        }
    }
    script
}

/// A script or a style sheet without indentation, empty lines and comments that fill their lines. What stands in
/// a template over several lines would change; wasm-bindgen writes none.
pub(crate) fn script(text: &str) -> String {
    let mut slim = String::with_capacity(text.len());
    let mut in_comment = false;
    for line in text.lines().map(str::trim) {
        let comment = in_comment || line.starts_with("/*");
        in_comment = comment && !line.ends_with("*/");
        if !comment && !line.is_empty() && !line.starts_with("//") {
            slim.push_str(line);
            slim.push('\n');
        }
    }
    slim
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_of_uncalled_classes_go_and_the_others_stay() {
        let record = |text: &str| [&(text.len() as u32).to_le_bytes(), text.as_bytes()].concat();
        let data = ["{}", "open", "{}", "IntoUnderlyingSink", "{}", ""].map(record).concat();
        assert_eq!(records(&data), ["{}", "open", "{}", ""].map(record).concat());
    }

    #[test]
    fn a_script_keeps_its_statements() {
        let text = "/**\n * @returns {x}\n */\nfunction f() {\n    // why\n    return 1; // kept\n}\n\n/* one */\nf();\n";
        assert_eq!(script(text), "function f() {\nreturn 1; // kept\n}\nf();\n");
    }
}
