//! What is seen. The views read the model and hand every act to the runner.
//!
//! A view is its markup, made once as a text, and a table of its [`place`]s: what is said there
//! of the state, and by which property or attribute. One effect a view fills them in and touches
//! only what has changed. Views in the framework's own types would have its code made anew for
//! every element and closure, and the page be nearly twice as large to download.

pub(crate) mod acts;
pub(crate) mod answer;
pub(crate) mod chart;
pub(crate) mod cure;
pub(crate) mod detail;
pub(crate) mod facts;
pub(crate) mod figures;
pub(crate) mod help;
pub(crate) mod imported;
pub(crate) mod lane;
pub(crate) mod lanes;
pub(crate) mod live;
pub(crate) mod markup;
pub(crate) mod place;
pub(crate) mod presenter;
pub(crate) mod settings;
pub(crate) mod spread;
pub(crate) mod stories;
pub(crate) mod takeaway;
pub(crate) mod top;
