//! Masks what must not be repeated: no output shows a key, a password, a token or where they lie.
