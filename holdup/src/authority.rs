//! The user's own certificate authority, below the data folder.

use std::env;
use std::path::PathBuf;

use certs::Authority;

use crate::exit::Problem;

/// Where else the data folder is.
const VARIABLE: &str = "HOLDUP_DATA_DIR";

/// The authority of whoever runs this; made on first use, and that is said.
pub(crate) fn of_user() -> Result<Authority, Problem> {
    let authority = Authority::open(&folder()?).map_err(Problem::nothing)?;
    if let Some(note) = authority.found().note() {
        eprintln!("{note}");
    }
    Ok(authority)
}

/// `authority` below HOLDUP_DATA_DIR, or below the system's data folder for this program.
fn folder() -> Result<PathBuf, Problem> {
    let data = match env::var_os(VARIABLE).filter(|folder| !folder.is_empty()) {
        Some(folder) => PathBuf::from(folder),
        None => directories::ProjectDirs::from("", "", "holdup")
            .map(|folders| folders.data_dir().to_owned())
            .ok_or_else(|| {
                Problem::nothing(format!(
                    "cannot find a folder for the certificate authority: there is no home folder; set {VARIABLE}"
                ))
            })?,
    };
    Ok(data.join("authority"))
}
