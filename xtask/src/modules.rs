//! The module tree of a crate, as its sources declare it: which module is in which file, and which module a path leads to.
//!
//! Macros are not expanded: a name that only a macro defines counts as defined where the path ends.

mod reading;
mod syntax;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

pub(crate) use syntax::{Literal, Name};

/// All modules below one root file.
pub(crate) struct Tree {
    /// The crate's name.
    pub(crate) package: String,
    /// The root is the first; a parent stands before its children.
    pub(crate) modules: Vec<Module>,
}

/// One module: a file, or a block in one.
pub(crate) struct Module {
    /// From the root, which has an empty path.
    pub(crate) path: Vec<String>,
    /// Relative to the workspace, with `/`.
    pub(crate) file: String,
    /// It is built for unit tests only.
    pub(crate) is_test: bool,
    pub(crate) parent: Option<usize>,
    pub(crate) children: BTreeMap<String, usize>,
    /// Every path and every import in it, in the order of the source.
    pub(crate) names: Vec<Name>,
    /// Numbers outside of attributes.
    pub(crate) literals: Vec<Literal>,
    imports: Vec<syntax::Import>,
    items: BTreeSet<String>,
}

/// Names whose imports are being followed, or were, and lead nowhere: modules that import all of each other are searched once.
type Followed<'a> = BTreeSet<(usize, &'a str)>;

/// Where a path ends.
struct End {
    module: usize,
    /// The path names the module, not an item in it.
    is_module: bool,
}

impl Tree {
    /// The tree below `file`, the root of a library or a program.
    ///
    /// # Errors
    /// A file that is absent or that is not Rust.
    pub(crate) fn read(package: &str, workspace: &Path, file: &str) -> Result<Self, String> {
        reading::tree(package, &|file| fs::read_to_string(workspace.join(file)), file)
    }

    /// The tree of files that are not on disk; the first is the root.
    #[cfg(test)]
    pub(crate) fn of_texts(package: &str, files: &[(&str, &str)]) -> Result<Self, String> {
        let text_of = |file: &Path| {
            let text =
                files.iter().find(|(name, _)| Path::new(name) == file).map(|(_, text)| (*text).to_owned());
            text.ok_or_else(|| std::io::ErrorKind::NotFound.into())
        };
        reading::tree(package, &text_of, files[0].0)
    }

    /// Every module that `segments`, as written in `from`, lead through; none for a path into another crate.
    pub(crate) fn modules_of(&self, from: usize, segments: &[String]) -> BTreeSet<usize> {
        let mut passed = BTreeSet::new();
        let _ = self.follow(from, segments, &mut passed, &mut Followed::new());
        passed
    }

    /// `crate::a::b`.
    pub(crate) fn shown(&self, module: usize) -> String {
        ["crate"]
            .into_iter()
            .chain(self.modules[module].path.iter().map(String::as_str))
            .collect::<Vec<_>>()
            .join("::")
    }

    fn follow<'a>(
        &'a self,
        from: usize,
        segments: &'a [String],
        passed: &mut BTreeSet<usize>,
        followed: &mut Followed<'a>,
    ) -> Option<End> {
        let (first, mut rest) = segments.split_first()?;
        let mut end = match first.as_str() {
            "crate" => End { module: 0, is_module: true },
            "self" => End { module: from, is_module: true },
            "super" => End { module: self.modules[from].parent?, is_module: true },
            name => self.find(from, name, passed, followed)?,
        };
        while end.is_module {
            passed.insert(end.module);
            let Some((name, further)) = rest.split_first() else { break };
            rest = further;
            end = match (name.as_str(), self.modules[end.module].parent) {
                ("self", _) => end,
                ("super", Some(parent)) => End { module: parent, is_module: true },
                _ => self
                    .find(end.module, name, passed, followed)
                    .unwrap_or(End { module: end.module, is_module: false }),
            };
        }
        passed.insert(end.module);
        Some(end)
    }

    /// What `name` is in `module`: a module of its own, an item, or what an import leads to.
    fn find<'a>(
        &'a self,
        module: usize,
        name: &'a str,
        passed: &mut BTreeSet<usize>,
        followed: &mut Followed<'a>,
    ) -> Option<End> {
        let here = &self.modules[module];
        if let Some(&child) = here.children.get(name) {
            return Some(End { module: child, is_module: true });
        }
        if here.items.contains(name) {
            return Some(End { module, is_module: false });
        }
        if !followed.insert((module, name)) {
            return None;
        }
        let end = self.import(module, name, passed, followed)?;
        followed.remove(&(module, name));
        Some(end)
    }

    /// What an import of `module` leads to by `name`: one of that name, or one of all names of another module.
    fn import<'a>(
        &'a self,
        module: usize,
        name: &'a str,
        passed: &mut BTreeSet<usize>,
        followed: &mut Followed<'a>,
    ) -> Option<End> {
        let imports = &self.modules[module].imports;
        if let Some(import) = imports.iter().find(|import| import.name.as_deref() == Some(name)) {
            return self.follow(module, &import.segments, passed, followed);
        }
        imports.iter().filter(|import| import.name.is_none()).find_map(|glob| {
            let mut on_the_way = BTreeSet::new();
            let target = self.follow(module, &glob.segments, &mut on_the_way, followed)?;
            let end = self.find(target.module, name, &mut on_the_way, followed)?;
            passed.append(&mut on_the_way);
            Some(end)
        })
    }
}
