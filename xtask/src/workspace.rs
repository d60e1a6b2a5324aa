//! The workspace as cargo sees it: crates, what they depend on, and where their targets are.
//!
//! Never: a path that is written down here and in a `Cargo.toml`.

use crate::modules::Tree;
use cargo_metadata::{Dependency, DependencyKind, Metadata, MetadataCommand, Package, TargetKind};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

/// All crates of the workspace.
pub(crate) struct Workspace {
    /// Absolute.
    pub(crate) root: PathBuf,
    pub(crate) crates: Vec<Crate>,
    trees: OnceLock<Result<Vec<Tree>, String>>,
}

/// One crate.
pub(crate) struct Crate {
    pub(crate) name: String,
    /// Crates of this workspace that it is built with.
    pub(crate) dependencies: BTreeSet<String>,
    /// Crates of this workspace that its tests are built with besides.
    pub(crate) test_dependencies: BTreeSet<String>,
    /// Roots of its libraries and binaries, relative to the workspace.
    pub(crate) roots: Vec<String>,
}

impl Workspace {
    /// Asks `cargo metadata`.
    ///
    /// # Errors
    /// What cargo says where it can't read a manifest.
    pub(crate) fn load() -> Result<Self, String> {
        let metadata = MetadataCommand::new()
            .no_deps()
            .exec()
            .map_err(|error| format!("cargo metadata failed: {error}"))?;
        let members: BTreeSet<String> =
            metadata.workspace_packages().iter().map(|package| package.name.to_string()).collect();
        let crates = metadata
            .workspace_packages()
            .iter()
            .map(|package| describe(package, &members, &metadata))
            .collect();
        Ok(Self { root: metadata.workspace_root.into(), crates, trees: OnceLock::new() })
    }

    /// The module trees of all crates; they are read once.
    ///
    /// # Errors
    /// A file that is absent or that is not Rust.
    pub(crate) fn trees(&self) -> Result<&[Tree], String> {
        let read = || {
            let roots =
                self.crates.iter().flat_map(|each| each.roots.iter().map(move |root| (&each.name, root)));
            roots.map(|(package, root)| Tree::read(package, &self.root, root)).collect()
        };
        self.trees.get_or_init(read).as_deref().map_err(String::clone)
    }
}

fn describe(package: &Package, members: &BTreeSet<String>, metadata: &Metadata) -> Crate {
    let (of_tests, of_all): (Vec<_>, Vec<_>) = package
        .dependencies
        .iter()
        .filter(|dependency| members.contains(&dependency.name))
        .partition(|dependency| dependency.kind == DependencyKind::Development);
    let names = |dependencies: Vec<&Dependency>| {
        dependencies.into_iter().map(|dependency| dependency.name.clone()).collect()
    };
    let of_kind = |kinds: &'static [TargetKind]| {
        package.targets.iter().filter(|target| target.kind.iter().any(|kind| kinds.contains(kind)))
    };
    let relative = |path: &cargo_metadata::camino::Utf8Path| {
        path.strip_prefix(&metadata.workspace_root).unwrap_or(path).to_string()
    };
    Crate {
        name: package.name.to_string(),
        dependencies: names(of_all),
        test_dependencies: names(of_tests),
        roots: of_kind(&[TargetKind::Lib, TargetKind::Bin])
            .map(|target| relative(&target.src_path))
            .collect(),
    }
}
