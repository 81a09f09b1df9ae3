//! The page's files: from a folder, or embedded in the command.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use bytes::Bytes;

/// Where the page's files come from.
#[derive(Clone, Debug, Default)]
pub enum Assets {
    /// There is no page.
    #[default]
    None,
    /// `index.html` and `pkg/` in this folder, read at each request so that a rebuilt page is
    /// served without a restart.
    Folder(PathBuf),
    /// By path, such as `index.html` and `pkg/style.css`.
    Embedded(BTreeMap<&'static str, &'static [u8]>),
}

impl Assets {
    /// A file's bytes by its path on the server, without the leading slash; `None` for any path
    /// that is not one of the page's own.
    pub fn read(&self, path: &str) -> Option<Bytes> {
        let name = if path.is_empty() { "index.html" } else { path };
        let plain = name == "index.html"
            || name.strip_prefix("pkg/").is_some_and(|file| {
                !file.starts_with('.')
                    && file.split('/').all(|part| !part.is_empty() && part != ".." && part != ".")
                    && file.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-/".contains(&b))
            });
        if !plain {
            return None;
        }
        match self {
            Assets::None => None,
            Assets::Folder(folder) => std::fs::read(folder.join(name)).ok().map(Bytes::from),
            Assets::Embedded(files) => files.get(name).map(|bytes| Bytes::from_static(bytes)),
        }
    }

    /// Paths of every file there is now.
    pub fn names(&self) -> Vec<String> {
        match self {
            Assets::None => Vec::new(),
            Assets::Folder(folder) => {
                let mut names = vec!["index.html".to_string()];
                list(folder, "pkg", &mut names);
                names
            }
            Assets::Embedded(files) => files.keys().map(ToString::to_string).collect(),
        }
    }
}

/// Adds the files in a folder and in those within it, as paths under `root`.
fn list(root: &Path, folder: &str, names: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = format!("{folder}/{}", entry.file_name().to_string_lossy());
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => list(root, &name, names),
            Ok(_) => names.push(name),
            Err(_) => {}
        }
    }
}

/// The MIME type of a page's file. WebAssembly compiles while it streams only with its own.
pub fn mime(path: &str) -> &'static str {
    match path.rsplit('.').next().unwrap_or_default() {
        "" | "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "wasm" => "application/wasm",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "json" => "application/json",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_pages_own_files_are_served() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("pkg")).unwrap();
        std::fs::write(folder.path().join("index.html"), "page").unwrap();
        std::fs::write(folder.path().join("pkg/a.js"), "js").unwrap();
        std::fs::write(folder.path().join("secret"), "no").unwrap();
        let assets = Assets::Folder(folder.path().into());
        assert_eq!(assets.read("").as_deref(), Some(b"page".as_slice()));
        assert_eq!(assets.read("pkg/a.js").as_deref(), Some(b"js".as_slice()));
        for path in
            ["secret", "pkg/../secret", "pkg//a.js", "pkg/.a", "/etc/passwd", "pkg/%2e%2e/secret"]
        {
            assert_eq!(assets.read(path), None, "{path}");
        }
        assert_eq!(Assets::None.read(""), None);
    }

    #[test]
    fn wasm_has_its_own_type() {
        assert_eq!(mime("pkg/web_client_bg.wasm"), "application/wasm");
        assert_eq!(mime("index.html"), "text/html; charset=utf-8");
    }
}
