//! Findings in, text out.

#[path = "../../../analysis/tests/builder/mod.rs"]
mod builder;
mod capture_graphs;
mod hostile;
#[path = "../../../analysis/tests/builder/judged.rs"]
mod judged;
#[path = "../made/mod.rs"]
mod made;
mod page;
mod pictures;
mod render;
mod screens;
mod words;
