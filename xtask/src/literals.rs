//! Numbers of the judge stand in `thresholds.rs`: elsewhere in `judge` and `infer` only 0, 1, 2 and factors of units.

use crate::modules::{Literal, Module, Tree};
use crate::workspace::Workspace;

/// The check refuses a number outside of `thresholds.rs`.
const ARE_REFUSED: bool = true;

const FOLDERS: [&str; 4] = [
    "crates/analysis/src/judge.rs",
    "crates/analysis/src/judge/",
    "crates/analysis/src/infer.rs",
    "crates/analysis/src/infer/",
];
/// The file that has them all.
const THRESHOLDS: &str = "/thresholds.rs";
/// Bits in a byte.
const BITS: f64 = 8.0;
/// Digits of the largest unit factor: picoseconds of a second.
const POWER_MAX: i32 = 12;

/// Every number that should be a threshold, once that is a rule.
///
/// # Errors
/// A file that can't be read.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    if ARE_REFUSED { find_numbers(workspace) } else { Ok(Vec::new()) }
}

/// Prints every number that should be a threshold.
///
/// # Errors
/// A file that can't be read.
pub(crate) fn print(workspace: &Workspace) -> Result<(), String> {
    let found = find_numbers(workspace)?;
    for line in &found {
        println!("{line}");
    }
    println!("numbers outside of thresholds.rs: {}", found.len());
    Ok(())
}

fn find_numbers(workspace: &Workspace) -> Result<Vec<String>, String> {
    Ok(workspace.trees()?.iter().flat_map(numbers).collect())
}

fn numbers(tree: &Tree) -> Vec<String> {
    let is_looked_at = |module: &&Module| {
        FOLDERS.iter().any(|folder| module.file.starts_with(folder)) && !module.file.ends_with(THRESHOLDS)
    };
    let of_module = |module: &'_ Module| -> Vec<String> {
        let refused = module.literals.iter().filter(|literal| !literal.is_test && !is_plain(literal));
        refused
            .map(|literal| {
                format!("{}:{}: {} belongs into thresholds.rs", module.file, literal.line, literal.text)
            })
            .collect()
    };
    tree.modules.iter().filter(is_looked_at).flat_map(of_module).collect()
}

/// 0, 1, 2, a power of ten, or eight times one.
fn is_plain(literal: &Literal) -> bool {
    let Ok(value) = value(&literal.text) else { return false };
    let is_unit = |value: f64| (0..=POWER_MAX).any(|power| value == 10_f64.powi(power));
    [0.0, 1.0, 2.0].contains(&value) || is_unit(value) || is_unit(value / BITS)
}

fn value(text: &str) -> Result<f64, syn::Error> {
    match syn::parse_str(text)? {
        syn::Lit::Int(number) => number.base10_parse(),
        syn::Lit::Float(number) => number.base10_parse(),
        other => Err(syn::Error::new(other.span(), "not a number")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers_in(file: &str, text: &str) -> Vec<String> {
        numbers(&Tree::of_texts("x", &[(file, text)]).unwrap())
    }

    #[test]
    fn a_threshold_outside_of_its_file_is_found() {
        let text = "const HALF: f64 = 0.5;\nfn f() { matches!(x, 0.25..); g(2.5e-3, 0x10, 30_u64, -3) }\n";
        let told = ["1: 0.5", "2: 0.25", "2: 2.5e-3", "2: 0x10", "2: 30_u64", "2: 3"]
            .map(|number| format!("crates/analysis/src/judge/a.rs:{number} belongs into thresholds.rs"));
        assert_eq!(numbers_in("crates/analysis/src/judge/a.rs", text), told);
        for elsewhere in ["crates/analysis/src/judge/thresholds.rs", "crates/analysis/src/ground/a.rs"] {
            assert_eq!(numbers_in(elsewhere, text), [""; 0], "{elsewhere}");
        }
    }

    #[test]
    fn units_and_tests_are_free() {
        let text = "fn f() { g(0, 1, 2, 0.0, 1.0, 2.0, 8, 8.0, 10, 100, 1_000, 1e3, 1_000_000_u64, 1e6, 8e6, 8_000_000, 1e9) }\n\
            #[cfg(test)] mod tests { const SOME: u8 = 7; }\n#[cfg(test)] fn h() { 7 }\n";
        assert_eq!(numbers_in("crates/analysis/src/infer.rs", text), [""; 0]);
        assert_eq!(numbers_in("crates/analysis/src/infer.rs", "fn f() { g(80, 4e3, 20, 0.1) }").len(), 3);
    }
}
