//! Pass-throughs over [`wire`]: the tap, which passes every byte on at once and notes what each
//! read brought and when, and relays that are faulty on purpose, which prove that the instrument
//! sees what it should.
//!
//! A tap forwards first and understands HTTP afterwards: [`relay`] moves bytes, [`record`] joins
//! them to runs, [`behaviour`] is what a relay does with the answer's bytes in between.
//! Before TLS nothing is understood: [`sealed`] notes sizes and times, and so does [`datagrams`] of
//! what HTTP/3 sends.

pub mod behaviour;
pub mod datagrams;
pub mod record;
pub mod relay;
pub mod sealed;

pub use behaviour::Behaviour;
pub use datagrams::DatagramTap;
pub use relay::Tap;
