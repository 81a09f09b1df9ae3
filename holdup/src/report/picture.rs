//! What the pictures share: escaped text, scales, tick marks.

use std::fmt;

use measure::Span;

/// Text as HTML shows it, in content and in quoted attributes.
pub(crate) struct Esc<'a>(pub(crate) &'a str);

impl fmt::Display for Esc<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\n' | '\t' => write!(f, "{c}")?,
                // Control characters have no place in a document.
                c if c.is_control() => f.write_str("\u{fffd}")?,
                c => write!(f, "{c}")?,
            }
        }
        Ok(())
    }
}

/// Width of every picture in its own units; the page scales it.
pub(crate) const WIDTH: f64 = 800.0;

/// A linear time axis from 0 to `end`, between `left` and `right`.
pub(crate) struct Linear {
    pub(crate) end: Span,
    pub(crate) left: f64,
    pub(crate) right: f64,
}

impl Linear {
    pub(crate) fn x(&self, at: Span) -> f64 {
        let share = at.as_micros() as f64 / self.end.as_micros().max(1) as f64;
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Round times, eight at most.
    pub(crate) fn ticks(&self) -> Vec<Span> {
        let end = self.end.as_micros().max(1);
        let mut step = 1_000;
        // 1, 2 and 5 times the powers of ten.
        for factor in [2, 5, 10].into_iter().cycle() {
            if end / step <= 8 {
                break;
            }
            step = match factor {
                5 => step / 2 * 5,
                _ => step * 2,
            };
        }
        (0..=end / step).map(|index| Span(index * step)).collect()
    }
}

/// A logarithmic time axis over whole decades of milliseconds.
pub(crate) struct Log {
    /// Decades: from 10^`first` to 10^`last` milliseconds.
    pub(crate) first: i32,
    pub(crate) last: i32,
    pub(crate) left: f64,
    pub(crate) right: f64,
}

impl Log {
    /// An axis from 0.1 ms, under which no clock here tells times apart for a reader's eye, to
    /// the decade that holds the longest.
    pub(crate) fn up_to(longest: Span, left: f64, right: f64) -> Log {
        let decades = longest.as_millis_f64().max(1.0).log10().ceil() as i32;
        Log { first: -1, last: decades.clamp(1, 9), left, right }
    }

    /// Where a time stands; what is shorter than the axis stands at its beginning.
    pub(crate) fn x(&self, at: Span) -> f64 {
        let exponent = at.as_millis_f64().max(f64::MIN_POSITIVE).log10();
        let share = (exponent - f64::from(self.first)) / f64::from(self.last - self.first);
        self.left + share.clamp(0.0, 1.0) * (self.right - self.left)
    }

    /// Each decade with its name.
    pub(crate) fn ticks(&self) -> Vec<(Span, String)> {
        (self.first..=self.last)
            .map(|exponent| {
                let span = Span((10_f64.powi(exponent) * 1_000.0) as i64);
                let name = match exponent {
                    -1 => "≤ 0.1 ms".into(),
                    0..=2 => format!("{} ms", 10_i32.pow(exponent.unsigned_abs())),
                    _ => format!("{} s", 10_i64.pow((exponent - 3).unsigned_abs())),
                };
                (span, name)
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markup_is_shown_not_obeyed() {
        let shown = Esc("<script>\"a\" & 'b'\u{0}").to_string();
        assert_eq!(shown, "&lt;script&gt;&quot;a&quot; &amp; &#39;b&#39;\u{fffd}");
    }

    #[test]
    fn ticks_are_round_and_few() {
        for (end, step, count) in
            [(0, 1, 1), (7, 1, 8), (2_260, 500, 5), (11_000, 2_000, 6), (1 << 40, 1, 0)]
        {
            let axis = Linear { end: Span::millis(end), left: 0.0, right: 100.0 };
            let ticks = axis.ticks();
            assert!(ticks.len() <= 9, "{end}");
            if count > 0 {
                assert_eq!(ticks.len(), count, "{end}");
                assert_eq!(ticks.get(1).copied().unwrap_or(Span::millis(step)), Span::millis(step));
            }
        }
    }

    #[test]
    fn a_log_axis_holds_every_time() {
        let axis = Log::up_to(Span::millis(2_090), 0.0, 100.0);
        assert_eq!((axis.x(Span(-5)), axis.x(Span(0)), axis.x(Span(100))), (0.0, 0.0, 0.0));
        assert_eq!(axis.x(Span::millis(10_000)), 100.0);
        let names: Vec<String> = axis.ticks().into_iter().map(|(_, name)| name).collect();
        assert_eq!(names, ["≤ 0.1 ms", "1 ms", "10 ms", "100 ms", "1 s", "10 s"]);
    }
}
