//! Names and phrases that say nothing, or not what the field says: bindings, types, printed sentences and the pages under `docs/`.

use crate::sources::{self, Source};
use crate::workspace::Workspace;
use proc_macro2::{Delimiter, Group, Ident, LexError, TokenStream, TokenTree};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use syn::Lit;
use walkdir::WalkDir;

/// What must not be written, and what to write instead.
type Banned = (&'static str, &'static str);

/// Bindings, functions and fields.
const IDENTIFIERS: &[Banned] = &[("one", "the noun of the thing: `sample`, `flow`, `connection`")];

const OWNER: &str = "a noun of the field with its owner's name: `SocketReport`, `PacketDirection`";
/// Types, whoever owns them.
const TYPES: &[Banned] = &[
    ("Found", OWNER),
    ("Look", "`Sample`, with its owner's name"),
    ("Looks", "`Samples`, with its owner's name"),
    ("One", OWNER),
    ("Seen", OWNER),
    ("Told", OWNER),
    ("Way", "`Direction`, with its owner's name"),
];
/// Types of so general a name that the workspace has one of each at most.
const GENERAL_TYPES: [&str; 7] = ["Entry", "Kind", "Options", "Place", "Span", "State", "Stream"];

/// Phrases of text that is printed, in lower case.
const PHRASES: &[Banned] = &[
    ("can't be told", "\"is unknown\", and why"),
    ("does not tell", "\"does not show\", \"does not report\""),
    ("is to be had", "\"is available\""),
    ("so many", "the number, or what is counted"),
    ("so much", "the amount, or what is measured"),
    ("that of what", "the thing's name again"),
    ("this is no", "\"this is not a\""),
    ("tooth of", "what the window or the queue does"),
    ("what was told", "what reported it: the kernel, the other end, the record"),
    ("whoever", "who it is: the operator of the server, any client"),
];

/// Folders whose string literals are printed.
const PRINTED: (&str, &str) = ("crates/", "/src/");
/// Pages, folders of pages, and the schemas, whose descriptions are read too.
const PAGES: [&str; 6] =
    ["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "SECURITY.md", "docs", "schemas"];
/// What a page's file name ends in.
const PAGE_ENDS: [&str; 2] = ["json", "md"];
/// Decisions are not rewritten.
const HISTORY: &str = "docs/adr/";

/// Every such name and phrase, with what to write instead.
///
/// # Errors
/// A file that can't be read, or that is not Rust.
pub(crate) fn check(workspace: &Workspace) -> Result<Vec<String>, String> {
    let mut problems = against(&sources::read(&workspace.root)?)?;
    for page in PAGES {
        problems.extend(of_pages(&workspace.root, page)?);
    }
    Ok(problems)
}

fn of_pages(root: &Path, page: &str) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for entry in WalkDir::new(root.join(page)).sort_by_file_name() {
        let entry = entry.map_err(|error| error.to_string())?;
        let file = sources::relative(root, entry.path());
        let is_page = entry.path().extension().is_some_and(|end| PAGE_ENDS.iter().any(|known| end == *known));
        if is_page && !file.starts_with(HISTORY) {
            let text = fs::read_to_string(entry.path()).map_err(|error| format!("{file}: {error}"))?;
            problems.extend(phrases(&text).into_iter().map(|(line, banned)| problem(&file, line, banned)));
        }
    }
    Ok(problems)
}

fn against(sources: &[Source]) -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let mut general: BTreeMap<String, String> = BTreeMap::new();
    for source in sources {
        let tokens: TokenStream =
            source.text.parse().map_err(|error: LexError| format!("{}: {error}", source.path))?;
        let mut found = Names::default();
        found.read(tokens);
        let own = |ident: &Ident, banned| problem(&source.path, ident.span().start().line, banned);
        problems.extend(found.idents.iter().filter_map(|name| Some(own(name, banned(IDENTIFIERS, name)?))));
        problems.extend(found.types.iter().filter_map(|name| Some(own(name, banned(TYPES, name)?))));
        for name in found.types.iter().filter(|name| GENERAL_TYPES.iter().any(|general| *name == general)) {
            let place = format!("{}:{}", source.path, name.span().start().line);
            if let Some(before) = general.get(&name.to_string()) {
                problems
                    .push(format!("{place}: a second `{name}`, after the one in {before}; write {OWNER}"));
            } else {
                general.insert(name.to_string(), place);
            }
        }
        if source.path.starts_with(PRINTED.0) && source.path.contains(PRINTED.1) {
            problems.extend(found.strings.iter().flat_map(|(line, text)| {
                let found = phrases(text).into_iter();
                found.map(move |(below, banned)| problem(&source.path, line + below - 1, banned))
            }));
        }
    }
    Ok(problems)
}

fn problem(file: &str, line: usize, (name, instead): Banned) -> String {
    format!("{file}:{line}: `{name}`; write {instead}")
}

fn banned(list: &[Banned], name: &Ident) -> Option<Banned> {
    list.iter().copied().find(|(word, _)| name == word)
}

/// The banned phrases of `text`, each with the line, from 1, on which it begins; it may end on a later one.
fn phrases(text: &str) -> Vec<(usize, Banned)> {
    let is_between = |character: char| !character.is_alphanumeric() && character != '\'';
    let text = text.replace('’', "'").to_lowercase();
    let words: Vec<(usize, &str)> = (1..)
        .zip(text.lines())
        .flat_map(|(number, line)| line.split(is_between).map(move |word| (number, word)))
        .filter(|(_, word)| !word.is_empty())
        .collect();
    let mut found = Vec::new();
    for (at, (line, _)) in words.iter().enumerate() {
        let begins_here = |(phrase, _): &&Banned| {
            let mut following = words[at..].iter().map(|(_, word)| *word);
            phrase.split(' ').all(|wanted| following.next() == Some(wanted))
        };
        found.extend(PHRASES.iter().filter(begins_here).map(|phrase| (*line, *phrase)));
    }
    found
}

/// What a file names and prints.
#[derive(Default)]
struct Names {
    /// Every identifier, those of macros' inputs too.
    idents: Vec<Ident>,
    /// Types, traits and aliases that it defines.
    types: Vec<Ident>,
    /// The texts of its string literals, with the lines on which they begin.
    strings: Vec<(usize, String)>,
}

impl Names {
    fn read(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (at, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) if is_documentation(group) => {}
                TokenTree::Group(group) => self.read(group.stream()),
                TokenTree::Ident(name) => {
                    let defines = at.checked_sub(1).and_then(|before| tokens.get(before));
                    let words = ["enum", "struct", "trait", "type", "union"];
                    if let Some(TokenTree::Ident(word)) = defines
                        && words.iter().any(|known| word == known)
                    {
                        self.types.push(name.clone());
                    }
                    self.idents.push(name.clone());
                }
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal.clone()) {
                        self.strings.push((literal.span().start().line, text.value()));
                    }
                }
                TokenTree::Punct(_) => {}
            }
        }
    }
}

/// A comment that documents, which a token stream has as an attribute.
fn is_documentation(group: &Group) -> bool {
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket && matches!(first, Some(TokenTree::Ident(name)) if name == "doc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> Vec<String> {
        let source =
            |(path, text): &(&str, &str)| Source { path: (*path).to_owned(), text: (*text).to_owned() };
        against(&files.iter().map(source).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn a_binding_that_names_nothing_is_found_wherever_it_stands() {
        let text = "//! one\nfn f(flows: &[Flow]) {\n    flows.iter().map(|one| 1);\n    assert!(matches!(g, Some(one)));\n}\n\
                    /// one\nstruct S;\nconst T: &str = \"one\";\n";
        let told = [3, 4].map(|line| {
            format!("crates/a/tests/b.rs:{line}: `one`; write the noun of the thing: `sample`, `flow`, `connection`")
        });
        assert_eq!(problems(&[("crates/a/tests/b.rs", text)]), told);
    }

    #[test]
    fn a_type_is_a_noun_of_the_field() {
        let told =
            problems(&[("crates/a/src/b.rs", "fn f() { Told::new(); }\nenum Told { A }\ntype Way = u8;\n")]);
        assert_eq!(told.len(), 2, "{told:?}");
        assert!(told[0].starts_with("crates/a/src/b.rs:2: `Told`; write a noun"), "{told:?}");
        assert!(told[1].starts_with("crates/a/src/b.rs:3: `Way`; write `Direction`"), "{told:?}");
    }

    #[test]
    fn a_general_name_is_given_once() {
        let (first, second) =
            (("crates/a/src/a.rs", "struct Span;"), ("crates/b/src/b.rs", "\npub enum Span { A }"));
        assert_eq!(problems(&[first]), [""; 0]);
        let told = problems(&[first, second]);
        assert_eq!(told.len(), 1, "{told:?}");
        let start = "crates/b/src/b.rs:2: a second `Span`, after the one in crates/a/src/a.rs:1; write ";
        assert!(told[0].starts_with(start), "{told:?}");
    }

    #[test]
    fn a_phrase_is_found_in_what_is_printed() {
        let text = "//! Whoever reads this.\nfn f() {\n    say(\"Ask whoever runs it: that\n        can’t be told.\");\n}\n";
        let told = [
            "crates/a/src/b.rs:3: `whoever`; write who it is: the operator of the server, any client",
            "crates/a/src/b.rs:4: `can't be told`; write \"is unknown\", and why",
        ];
        assert_eq!(problems(&[("crates/a/src/b.rs", text)]), told);
        assert_eq!(problems(&[("crates/a/tests/b.rs", text)]), [""; 0]);
    }

    #[test]
    fn a_phrase_goes_on_on_the_next_line_of_a_page() {
        let lines: Vec<usize> = phrases("As often as\nso\nmany.\nSo-called: many, whoevers.\n")
            .iter()
            .map(|found| found.0)
            .collect();
        assert_eq!(lines, [2]);
    }
}
