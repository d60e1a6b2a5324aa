//! Reads a root file and every file that it declares.

use super::syntax::{self, Contents};
use super::{Module, Tree};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, ExprLit, Item, ItemMod, Lit, Meta};

/// Where the text of a module is.
struct ModuleFiles {
    /// Relative to the workspace.
    file: PathBuf,
    /// Where the files of the modules that it declares are.
    folder: PathBuf,
}

/// The text of a file, whose path is relative to the workspace.
pub(super) type Files<'a> = &'a dyn Fn(&Path) -> io::Result<String>;

/// The tree below `file`.
///
/// # Errors
/// A file that is absent or that is not Rust.
pub(super) fn tree(package: &str, files: Files<'_>, file: &str) -> Result<Tree, String> {
    let file = PathBuf::from(file);
    let folder = file.parent().unwrap_or(Path::new("")).to_owned();
    let mut reader = Reader { files, tree: Tree { package: package.to_owned(), modules: Vec::new() } };
    reader.read_file(None, String::new(), &ModuleFiles { file, folder }, false)?;
    Ok(reader.tree)
}

struct Reader<'a> {
    files: Files<'a>,
    tree: Tree,
}

impl Reader<'_> {
    fn read_file(
        &mut self,
        parent: Option<usize>,
        name: String,
        place: &ModuleFiles,
        is_test: bool,
    ) -> Result<(), String> {
        let shown = slashed(&place.file);
        let text = (self.files)(&place.file).map_err(|error| format!("{shown}: {error}"))?;
        let file = syn::parse_file(&text)
            .map_err(|error| format!("{shown}:{}: {error}", error.span().start().line))?;
        let is_test = is_test || syntax::is_for_tests(&file.attrs);
        self.read_items(parent, name, place, is_test, &file.items)
    }

    fn read_items(
        &mut self,
        parent: Option<usize>,
        name: String,
        place: &ModuleFiles,
        is_test: bool,
        items: &[Item],
    ) -> Result<(), String> {
        let number = self.tree.modules.len();
        let mut path = parent.map_or(Vec::new(), |parent| self.tree.modules[parent].path.clone());
        if let Some(parent) = parent {
            path.push(name.clone());
            self.tree.modules[parent].children.insert(name, number);
        }
        let Contents { names, literals, imports, items: defined } = syntax::contents(items, is_test);
        self.tree.modules.push(Module {
            path,
            file: slashed(&place.file),
            is_test,
            parent,
            children: BTreeMap::new(),
            names,
            literals,
            imports,
            items: defined,
        });
        for item in items {
            if let Item::Mod(module) = item {
                self.read_module(number, place, is_test, module)?;
            }
        }
        Ok(())
    }

    fn read_module(
        &mut self,
        parent: usize,
        place: &ModuleFiles,
        is_test: bool,
        module: &ItemMod,
    ) -> Result<(), String> {
        let name = module.ident.to_string();
        let is_test = is_test || syntax::is_for_tests(&module.attrs);
        if let Some((_, items)) = &module.content {
            let place = ModuleFiles { file: place.file.clone(), folder: place.folder.join(&name) };
            return self.read_items(Some(parent), name, &place, is_test, items);
        }
        let place = match module.attrs.iter().find_map(path_attribute) {
            Some(path) => {
                let file = tidy(&place.file.parent().unwrap_or(Path::new("")).join(path));
                ModuleFiles { folder: file.parent().unwrap_or(Path::new("")).to_owned(), file }
            }
            None => self.declared(place, &name),
        };
        self.read_file(Some(parent), name, &place, is_test)
    }

    /// `name.rs`, or `name/mod.rs` where there is no such file.
    fn declared(&self, parent: &ModuleFiles, name: &str) -> ModuleFiles {
        let folder = parent.folder.join(name);
        let file = parent.folder.join(format!("{name}.rs"));
        if (self.files)(&file).is_ok() {
            ModuleFiles { file, folder }
        } else {
            ModuleFiles { file: folder.join("mod.rs"), folder }
        }
    }
}

/// `x.rs` of `#[path = "x.rs"]`.
fn path_attribute(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        Expr::Lit(ExprLit { lit: Lit::Str(path), .. }) if pair.path.is_ident("path") => Some(path.value()),
        _ => None,
    }
}

/// The same path without `..`.
fn tidy(path: &Path) -> PathBuf {
    let mut tidy = PathBuf::new();
    for component in path.components() {
        if component.as_os_str() == ".." {
            tidy.pop();
        } else {
            tidy.push(component);
        }
    }
    tidy
}

fn slashed(path: &Path) -> String {
    path.to_string_lossy().replace('\\', "/")
}
