//! The live view of `pipefill watch`.

mod screen;
mod state;
mod view;

pub(crate) use view::view;
