//! The doctor: experiments until the cause of a held stream has a name, then the cure.
//!
//! [`plan`] says what will be asked; [`experiment`] is what may be asked, as data; [`engine`] chooses the next one by what
//! [`evidence`] there is, through [`measure::cause::naming`]; [`native`] plays it, with the
//! emitter's ledger where ours stands [`behind`]; [`judge`] says what a stream shows;
//! [`extent`] sees how far a cause goes, [`hit`] which users see it over TLS; [`diagnosis`], [`record`] and [`show`] tell it;
//! [`verify`] asks again after a change. [`config`] asks a configuration instead of a stream.

pub(crate) mod behind;
pub(crate) mod budget;
pub(crate) mod cli;
pub(crate) mod config;
pub(crate) mod diagnosis;
pub(crate) mod engine;
pub(crate) mod evidence;
pub(crate) mod experiment;
pub(crate) mod extent;
pub(crate) mod hit;
pub(crate) mod judge;
pub(crate) mod native;
pub(crate) mod plan;
pub(crate) mod record;
pub(crate) mod show;
pub(crate) mod stop;
pub(crate) mod verify;
