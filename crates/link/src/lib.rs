//! The path as pure state machines driven by `now`.
#![forbid(unsafe_code)]
