//! Findings in, text out.

mod arithmetic;
mod capture_graphs;
mod captured;
mod hostile;
mod made;
mod page;
mod pictures;
mod render;
mod screens;
mod words;
