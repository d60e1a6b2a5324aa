use super::*;

fn tree(files: &[(&str, &str)]) -> Tree {
    Tree::of_texts("x", files).unwrap()
}

fn modules_of(tree: &Tree, from: &str, path: &str) -> Vec<String> {
    let number = (0..tree.modules.len()).find(|&module| tree.shown(module) == from).unwrap();
    let segments: Vec<String> = path.split("::").map(str::to_owned).collect();
    tree.modules_of(number, &segments).into_iter().map(|module| tree.shown(module)).collect()
}

#[test]
fn files_are_found_where_the_compiler_finds_them() {
    let tree = tree(&[
        ("src/lib.rs", "mod a; mod b { mod c; } #[path = \"../other/d.rs\"] mod d;"),
        ("src/a.rs", "mod e;"),
        ("src/a/e/mod.rs", "mod f;"),
        ("src/a/e/f.rs", ""),
        ("src/b/c.rs", ""),
        ("other/d.rs", "mod g;"),
        ("other/g.rs", ""),
    ]);
    let files: Vec<(String, &str)> =
        (0..).zip(&tree.modules).map(|(number, module)| (tree.shown(number), module.file.as_str())).collect();
    let expected = [
        ("crate", "src/lib.rs"),
        ("crate::a", "src/a.rs"),
        ("crate::a::e", "src/a/e/mod.rs"),
        ("crate::a::e::f", "src/a/e/f.rs"),
        ("crate::b", "src/lib.rs"),
        ("crate::b::c", "src/b/c.rs"),
        ("crate::d", "other/d.rs"),
        ("crate::d::g", "other/g.rs"),
    ];
    assert_eq!(files, expected.map(|(path, file)| (path.to_owned(), file)));
}

#[test]
fn a_file_that_is_absent_or_no_rust_is_an_error() {
    let absent = Tree::of_texts("x", &[("src/lib.rs", "mod a;")]).err().unwrap();
    assert!(absent.starts_with("src/a/mod.rs: "), "{absent}");
    let broken = Tree::of_texts("x", &[("src/lib.rs", "\nfn (")]).err().unwrap();
    assert!(broken.starts_with("src/lib.rs:2: "), "{broken}");
}

#[test]
fn a_path_is_followed_through_parents_imports_and_globs() {
    let tree = tree(&[
        ("lib.rs", "pub use a::deep::Thing; mod a; mod b; mod c;"),
        ("a.rs", "pub mod deep;"),
        ("a/deep.rs", "pub struct Thing; pub fn work() {}"),
        ("b.rs", "use crate::a::deep as far; mod below { use super::*; }"),
        ("c.rs", "pub use super::a::*; pub use std::fmt;"),
    ]);
    assert_eq!(modules_of(&tree, "crate::b", "crate::Thing"), ["crate", "crate::a", "crate::a::deep"]);
    assert_eq!(modules_of(&tree, "crate::b", "far::work"), ["crate", "crate::a", "crate::a::deep"]);
    assert_eq!(
        modules_of(&tree, "crate::b::below", "super::super::c::deep::Thing"),
        ["crate", "crate::a", "crate::a::deep", "crate::b", "crate::c"]
    );
    let through_glob = modules_of(&tree, "crate::b::below", "far::Thing");
    assert!(through_glob.contains(&"crate::a::deep".to_owned()), "{through_glob:?}");
    for outside in ["std::fmt", "Vec", "fmt::Display"] {
        assert_eq!(modules_of(&tree, "crate::b", outside), [""; 0], "{outside}");
    }
    assert_eq!(modules_of(&tree, "crate::b", "self::made_by_a_macro"), ["crate::b"]);
}

#[test]
fn imports_that_import_each_other_end() {
    let tree = tree(&[(
        "lib.rs",
        "mod a { pub use super::b::X; pub use super::b::*; } mod b { pub use super::a::X; pub use super::a::*; }",
    )]);
    let _ = modules_of(&tree, "crate::a", "X::y");
    let _ = modules_of(&tree, "crate::a", "Other");
}

#[test]
fn names_are_those_of_imports_types_expressions_and_macros() {
    let text = "use a::{self, b::C as D, e::*};\n\
        struct F { g: Option<h::I> }\n\
        fn k() -> Vec<l::M> { n::o(p::Q { r: 1 }); s!(\"t::u\", v::w, aa::bb!(), cc != (dd), ee.ff(gg.hh)); x.y::<z::A>() }\n\
        #[derive(serde::Serialize)] struct B;";
    let tree = tree(&[("lib.rs", text)]);
    let names: Vec<String> = tree.modules[0].names.iter().map(|name| name.segments.join("::")).collect();
    for expected in [
        "a", "a::b::C", "a::e::*", "h::I", "l::M", "n::o", "p::Q", "s!", "v::w", "aa::bb!", "cc", ".ff",
        ".y", "z::A",
    ] {
        assert!(names.iter().any(|name| name == expected), "{expected} in {names:?}");
    }
    for other in ["t::u", "serde::Serialize", "D", "hh", "ff"] {
        assert!(!names.iter().any(|name| name == other), "{other} in {names:?}");
    }
    let line = tree.modules[0].names.iter().find(|name| name.segments == ["v", "w"]).unwrap().line;
    assert_eq!(line, 3);
}

#[test]
fn only_what_is_under_cfg_test_is_for_tests() {
    let text = "#[cfg(test)] mod tests; #[cfg(test)] use a::A; use b::B;\n\
        #[cfg(any(test, unix))] fn c() { d::D }\n\
        impl E { #[cfg(test)] fn f() { g::G } fn h() { i::I } }\n\
        #[cfg(not(test))] fn j() { k::K }";
    let tree = tree(&[("lib.rs", text), ("tests.rs", "mod below;"), ("tests/below.rs", "use l::L;")]);
    let is_test = |last: &str| {
        let mut names = tree.modules.iter().flat_map(|module| &module.names);
        names.find(|name| name.segments.last().unwrap() == last).unwrap().is_test
    };
    assert_eq!(
        ["A", "B", "D", "G", "I", "K", "L"].map(is_test),
        [true, false, false, true, false, false, true]
    );
    let are_tests: Vec<bool> = tree.modules.iter().map(|module| module.is_test).collect();
    assert_eq!(are_tests, [false, true, true]);
}

#[test]
fn numbers_are_those_of_code_and_of_macros_but_not_of_fields_and_arrays() {
    let text = "const A: f64 = 0.5; fn b() -> u8 { c.3; d!(e.4, f.5.6, &g[..7], \"8\", 9_000); 10 }\n\
        #[allow(x = 11)] struct H([u8; 12], [u8; { 13 }]);";
    let tree = tree(&[("lib.rs", text)]);
    let numbers: Vec<&str> = tree.modules[0].literals.iter().map(|literal| literal.text.as_str()).collect();
    assert_eq!(numbers, ["0.5", "7", "9_000", "10", "13"]);
}
