//! What was put in another's place so that a configuration runs alone, line by line.

use std::fmt;

/// One change. Everything in it is masked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Where it stands, as people count: `line 4`, or `/etc/nginx/nginx.conf:4`.
    pub place: String,
    /// What stood there.
    pub old: String,
    /// What stands there now; empty where it is left out.
    pub new: String,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.new.as_str() {
            "" => write!(f, "{}: {} -> left out", self.place, self.old),
            new => write!(f, "{}: {} -> {new}", self.place, self.old),
        }
    }
}
