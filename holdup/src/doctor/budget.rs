//! How many requests may be made.

/// Counts every request, whatever it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Budget {
    most: u32,
    sent: u32,
    kept_back: u32,
}

impl Budget {
    /// So many in all.
    pub(crate) fn new(most: u32) -> Budget {
        Budget { most, sent: 0, kept_back: 0 }
    }

    /// Whether one more may be made; counts it.
    pub(crate) fn take(&mut self) -> bool {
        let may = self.sent < self.most;
        self.sent += u32::from(may);
        may
    }

    /// Keeps one back for the end.
    pub(crate) fn keep_back(&mut self) {
        self.kept_back = 1;
    }

    /// How many may still be made, besides the one kept back.
    pub(crate) fn left(&self) -> u32 {
        self.most.saturating_sub(self.sent + self.kept_back)
    }

    /// How many were made.
    pub(crate) fn sent(&self) -> u32 {
        self.sent
    }

    /// How many there may be.
    pub(crate) fn most(&self) -> u32 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_holds() {
        let mut budget = Budget::new(3);
        budget.keep_back();
        assert_eq!(budget.left(), 2);
        assert_eq!(
            [budget.take(), budget.take(), budget.take(), budget.take()],
            [true, true, true, false]
        );
        assert_eq!((budget.left(), budget.sent(), budget.most()), (0, 3, 3));
    }
}
