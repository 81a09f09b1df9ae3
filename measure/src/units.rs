//! Newtypes for the units: instants, spans and run ids.
//!
//! Times are integer microseconds. That is finer than any effect this program names and as
//! fine as the shared clock can be read from two processes on one machine.

use std::fmt;
use std::ops::{Add, Neg, Sub};
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// An instant: microseconds on the machine's monotonic clock, which emitter, tap and native
/// reader share. A page's clock is converted to it by [`crate::clock::ClockSync`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Stamp(pub i64);

/// A signed span of time in microseconds. Differences are never clamped: a small negative value
/// is what two clocks or a kernel stamp really gave.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Span(pub i64);

impl Span {
    /// No time at all.
    pub const ZERO: Span = Span(0);

    /// A span of whole microseconds.
    pub const fn micros(us: i64) -> Span {
        Span(us)
    }

    /// A span of whole milliseconds.
    pub const fn millis(ms: i64) -> Span {
        Span(ms * 1_000)
    }

    /// Whole microseconds.
    pub const fn as_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds with a fraction, for people.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1_000.0
    }

    /// Milliseconds as few digits as tell them exactly, such as `50` and `0.25`.
    pub fn millis_text(self) -> String {
        let (us, sign) = (self.0.unsigned_abs(), if self.0 < 0 { "-" } else { "" });
        let text = format!("{sign}{}.{:03}", us / 1_000, us % 1_000);
        text.trim_end_matches('0').trim_end_matches('.').into()
    }

    /// Reads milliseconds with any number of decimals; `None` when the text is no such number.
    pub fn from_millis_text(text: &str) -> Option<Span> {
        let (digits, sign) = match text.as_bytes() {
            [b'-', ..] => (&text[1..], -1),
            [b'+', ..] => (&text[1..], 1),
            _ => (text, 1),
        };
        let (whole, decimals) = digits.split_once('.').unwrap_or((digits, ""));
        let all = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if !all(whole) || !all(decimals) || whole.len() + decimals.len() == 0 {
            return None;
        }
        // One digit more than is kept, to round by.
        let mut tenths: i64 = 0;
        for index in 0..whole.len() + 4 {
            let digit = match index.checked_sub(whole.len()) {
                None => whole.as_bytes()[index],
                Some(index) => decimals.as_bytes().get(index).copied().unwrap_or(b'0'),
            };
            tenths = tenths.checked_mul(10)?.checked_add(i64::from(digit - b'0'))?;
        }
        Some(Span(sign * ((tenths + 5) / 10)))
    }

    /// The span without its sign.
    pub const fn abs(self) -> Span {
        Span(self.0.abs())
    }
}

impl Sub for Stamp {
    type Output = Span;
    fn sub(self, earlier: Stamp) -> Span {
        Span(self.0 - earlier.0)
    }
}

impl Add<Span> for Stamp {
    type Output = Stamp;
    fn add(self, span: Span) -> Stamp {
        Stamp(self.0 + span.0)
    }
}

impl Sub<Span> for Stamp {
    type Output = Stamp;
    fn sub(self, span: Span) -> Stamp {
        Stamp(self.0 - span.0)
    }
}

impl Add for Span {
    type Output = Span;
    fn add(self, other: Span) -> Span {
        Span(self.0 + other.0)
    }
}

impl Sub for Span {
    type Output = Span;
    fn sub(self, other: Span) -> Span {
        Span(self.0 - other.0)
    }
}

impl Neg for Span {
    type Output = Span;
    fn neg(self) -> Span {
        Span(-self.0)
    }
}

impl fmt::Display for Span {
    /// Milliseconds with at most one decimal, the unit always shown; whole from 100 ms on.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // In whole numbers: the page need not carry the formatting of floats for it.
        let (us, minus) = (self.0.unsigned_abs(), if self.0 < 0 { "-" } else { "" });
        let tenths = us.saturating_add(50) / 100;
        let text = match tenths {
            // Rounded to nothing, it has no sign to show.
            0 => "0.0 ms".into(),
            1..1_000 => format!("{minus}{}.{} ms", tenths / 10, tenths % 10),
            _ => format!("{minus}{} ms", us.saturating_add(500) / 1_000),
        };
        f.pad(&text)
    }
}

/// A figure with so many decimals; ties go to the even digit, as the formatting of floats has
/// it. That itself is not used: it would be a tenth of what the page costs to download.
pub fn decimal(figure: f64, digits: u32) -> String {
    let scale = 10_u64.pow(digits);
    let smallest = (figure.abs() * scale as f64).round_ties_even() as u64;
    let sign = if figure.is_sign_negative() { "-" } else { "" };
    if digits == 0 {
        return format!("{sign}{smallest}");
    }
    format!("{sign}{}.{:0width$}", smallest / scale, smallest % scale, width = digits as usize)
}

/// A run's identity: 128 bits that the reader chooses, written as 32 hexadecimal digits.
/// It travels in the URL and in every synthetic frame's `id:` field.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub u128);

/// The text is not 32 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a run id is 32 hexadecimal digits, not {0:?}")]
pub struct BadRunId(pub String);

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for RunId {
    type Err = BadRunId;
    fn from_str(text: &str) -> Result<RunId, BadRunId> {
        let digits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_hexdigit());
        match u128::from_str_radix(text, 16) {
            Ok(id) if digits => Ok(RunId(id)),
            _ => Err(BadRunId(text.chars().take(40).collect())),
        }
    }
}

impl Serialize for RunId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for RunId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<RunId, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_signed_and_never_clamped() {
        assert_eq!(Stamp(100) - Stamp(116), Span(-16));
        assert_eq!(Stamp(100) + Span::millis(2), Stamp(2_100));
    }

    #[test]
    fn spans_print_at_most_one_decimal_with_their_unit() {
        assert_eq!(Span(-16).to_string(), "0.0 ms");
        assert_eq!(Span(-160).to_string(), "-0.2 ms");
        assert_eq!(Span(2_349).to_string(), "2.3 ms");
        assert_eq!(Span(206_400).to_string(), "206 ms");
        assert_eq!(Span(99_960).to_string(), "100 ms");
    }

    #[test]
    fn run_ids_round_trip_and_refuse_anything_else() {
        let id = RunId(0x00ff);
        assert_eq!(id.to_string().parse::<RunId>(), Ok(id));
        for bad in ["", "ff", "+000000000000000000000000000000f", "zz"] {
            assert!(bad.parse::<RunId>().is_err(), "{bad:?}");
        }
    }
}
