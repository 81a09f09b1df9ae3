//! The probe: one deployed endpoint, or two ways to it, as its clients see it.
//!
//! [`cli`] is what can be asked for; [`secret`] the key, which goes nowhere but into the request;
//! [`body`] what is sent; [`plan`] the requests in their order; [`engine`] makes them one at a time
//! through an `Asker`, which [`asking`] is with `recv_client` (a scripted fake in tests);
//! [`kind`] says what an answer is before its times are looked at; [`row`] is what is kept of it;
//! [`ledger`] joins it with the times of Holdup's own emitter where that stands behind; [`ways`]
//! pools the rows of one way, [`against`] holds two ways against each other; [`document`] and
//! [`show`] tell it, [`expect`] makes it a check.

pub(crate) mod against;
pub(crate) mod asking;
pub(crate) mod body;
pub(crate) mod cli;
pub(crate) mod document;
pub(crate) mod engine;
pub(crate) mod expect;
pub(crate) mod kind;
pub(crate) mod ledger;
pub(crate) mod plan;
pub(crate) mod row;
pub(crate) mod secret;
pub(crate) mod show;
pub(crate) mod ways;
