//! What is seen. The views read the model and hand every act to the runner.

// The component macro writes `pub` properties structs into these private modules.
#![allow(unreachable_pub)]

pub(crate) mod answer;
pub(crate) mod chart;
pub(crate) mod facts;
pub(crate) mod figures;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod parts;
pub(crate) mod settings;
pub(crate) mod top;
