//! Files of an experiment that are written before it appears: captures of a program that still runs.
//!
//! Never: a file in the experiment that is not complete.

use crate::partial::suffix;
use crate::{Owner, StoreError};
use pipefill_core::file_name::FileName;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// A hidden directory beside the experiment's. Removed when dropped.
#[derive(Debug)]
pub struct Aside {
    path: PathBuf,
    target: PathBuf,
    names: Vec<FileName>,
}

impl Aside {
    /// Makes it for the experiment that will be at `target`.
    ///
    /// # Errors
    /// [`StoreError::File`].
    pub fn create(target: &Path, owner: &Owner) -> Result<Self, StoreError> {
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.aside{}", suffix(owner)));
        fs::create_dir(&path).map_err(StoreError::file("making", target))?;
        Ok(Self { path, target: target.to_owned(), names: Vec::new() })
    }

    /// Begins a file.
    ///
    /// # Errors
    /// [`StoreError::File`], also where there is one of this name.
    pub fn file(&mut self, name: &FileName) -> Result<File, StoreError> {
        let path = self.path.join(&**name);
        let file = File::create_new(&path).map_err(StoreError::file("making", &path))?;
        self.names.push(name.clone());
        Ok(file)
    }

    /// Gives the experiment, which is there by now, its files.
    ///
    /// # Errors
    /// [`StoreError::File`]; those that are not there are lost.
    pub fn appear(self) -> Result<(), StoreError> {
        self.names.iter().try_for_each(|name| {
            let path = self.target.join(&**name);
            fs::rename(self.path.join(&**name), &path).map_err(StoreError::file("making", &path))
        })
    }
}

impl Drop for Aside {
    fn drop(&mut self) {
        // What can't be removed is hidden, and nobody reads it.
        let _gone_or_left = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_appear_with_the_experiment_or_not_at_all() {
        let folder = tempfile::tempdir().expect("a folder");
        let (target, owner) = (folder.path().join("slow"), Owner::current().expect("a process"));
        let name = FileName::cleaned("sender.pcapng");
        let mut aside = Aside::create(&target, &owner).expect("a directory");
        aside.file(&name).expect("a file");
        assert!(aside.file(&name).is_err(), "one of this name is there");
        drop(aside);
        assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 0);
        let mut aside = Aside::create(&target, &owner).expect("a directory");
        aside.file(&name).expect("a file");
        fs::create_dir(&target).expect("the experiment");
        aside.appear().expect("moved");
        assert!(target.join("sender.pcapng").is_file());
        assert_eq!(fs::read_dir(folder.path()).expect("it").count(), 1, "nothing else is left");
    }
}
