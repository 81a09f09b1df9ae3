//! Version numbers of three parts, and where nginx's defaults changed.

/// A version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u16; 3]);

impl Version {
    /// From here on nginx speaks HTTP/1.1 to the upstream by itself and keeps the connection
    /// (CHANGES of 1.29.7).
    pub const HTTP11_UPSTREAM: Version = Version([1, 29, 7]);

    /// From here on there is `add_header_inherit` (CHANGES of 1.29.3).
    pub const HEADER_INHERIT: Version = Version([1, 29, 3]);

    /// The one that the tests ask.
    pub const PINNED: Version = Version([1, 31, 3]);
}

impl std::fmt::Display for Version {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Version([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

impl std::str::FromStr for Version {
    type Err = String;

    /// `1.22.1`, `nginx/1.22.1` or `1.22`: the last is its first patch.
    fn from_str(text: &str) -> Result<Version, String> {
        let bare = text.trim().trim_start_matches("nginx/");
        let parts: Result<Vec<u16>, _> = bare.split('.').map(str::parse).collect();
        match parts.as_deref() {
            Ok([major, minor]) => Ok(Version([*major, *minor, 0])),
            Ok([major, minor, patch]) => Ok(Version([*major, *minor, *patch])),
            _ => Err(format!("{text:?} is no version, such as 1.24.0")),
        }
    }
}
