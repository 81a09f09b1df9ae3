//! What arrivals alone would say of the same streams: the emitter's ledger put aside, as at
//! somebody else's service, with more or less known of the origin.

use measure::results::RunRecord;
use measure::verdict::arrivals::{Origin, of_arrivals};
use measure::verdict::{Thresholds, Verdict};
use serde::{Deserialize, Serialize};

use super::tally::{Kind, Matrix, Other};

/// What is known of the origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Known {
    /// The script that it was asked for.
    Script,
    /// A reading on the direct way of the same round.
    Direct,
    /// Nothing.
    Nothing,
}

impl Known {
    pub(crate) const ALL: [Known; 3] = [Known::Script, Known::Direct, Known::Nothing];

    /// In a table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Known::Script => "the script asked for",
            Known::Direct => "a reading on the direct way",
            Known::Nothing => "nothing",
        }
    }
}

/// How a stream's runs came out by their arrivals alone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Alone {
    pub(crate) known: Known,
    pub(crate) right: u32,
    /// `cannot-tell`, or the reader itself was late.
    pub(crate) open: u32,
    /// Called live, though it is not: nobody is blamed, but it is not seen either.
    pub(crate) missed: u32,
    /// Called something that it is not.
    pub(crate) wrong: Vec<Other>,
}

/// Judges a stream's runs by what each kind of knowledge allows. `direct` gives the control's run
/// of the same round.
pub(crate) fn judge<'a>(
    runs: &[&'a RunRecord],
    truth: Verdict,
    direct: impl Fn(&RunRecord) -> Option<&'a RunRecord>,
) -> Vec<Alone> {
    let of = |known| {
        let mut alone = Alone { known, right: 0, open: 0, missed: 0, wrong: Vec::new() };
        for run in runs {
            let origin = match known {
                Known::Script => run.ledger.as_ref().map(|ledger| Origin::Script(&ledger.script)),
                Known::Direct => direct(run).map(|run| Origin::Direct(&run.arrivals)),
                Known::Nothing => Some(Origin::Unknown),
            };
            let Some(origin) = origin else { continue };
            let found = of_arrivals(&run.arrivals, origin, &Thresholds::standard()).finding;
            match found.name {
                name if name == truth => alone.right += 1,
                Verdict::CannotTell | Verdict::Void => alone.open += 1,
                Verdict::Live => alone.missed += 1,
                verdict => alone.wrong.push(Other {
                    run: run.arrivals.run.to_string(),
                    round: run.round,
                    verdict,
                    because: found.because,
                }),
            }
        }
        alone
    };
    Known::ALL.map(of).into()
}

/// Sums over streams of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sum {
    pub(crate) right: u32,
    pub(crate) open: u32,
    pub(crate) missed: u32,
    pub(crate) wrong: u32,
}

impl Matrix {
    /// What arrivals alone said of the streams of one kind.
    pub(crate) fn alone(&self, known: Known, kind: Kind) -> Sum {
        let rows = self.rows.iter().filter(|row| Kind::of(row.truth) == kind);
        rows.flat_map(|row| &row.alone).filter(|alone| alone.known == known).fold(
            Sum::default(),
            |sum, alone| Sum {
                right: sum.right + alone.right,
                open: sum.open + alone.open,
                missed: sum.missed + alone.missed,
                wrong: sum.wrong + alone.wrong.len() as u32,
            },
        )
    }

    /// How many runs arrivals alone called something that they are not, whatever was known.
    pub(crate) fn alone_wrong(&self) -> usize {
        self.rows.iter().flat_map(|row| &row.alone).map(|alone| alone.wrong.len()).sum()
    }
}
