//! A killed process's leftovers go; everything else stays.

use super::*;
use crate::partial::suffix;
use crate::tiny::{self, Asked};
use crate::{OWNER, Partial};
use pipefill_core::file_name::FileName;
use std::os::unix::fs::PermissionsExt;
use std::thread;
use tempfile::TempDir;

/// A registry, an experiment and its owner, in a folder of their own.
struct Scene {
    folder: TempDir,
    registry: Registry,
    asked: Asked,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(&folder.path().join("registry"));
        Self { folder, registry, asked: Asked::tiny(&[]) }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn experiment(&self, name: &str) -> ExperimentDirectory {
        let path = self.path(name);
        fs::create_dir(&path).unwrap();
        ExperimentDirectory::create(&path, &self.asked.on("lab")).unwrap()
    }

    /// As SIGKILL would leave it: nothing is dropped.
    fn killed_in(&self, experiment: &ExperimentDirectory, created: bool) -> Owner {
        let owner = dead();
        std::mem::forget(self.registry.enter(&owner, &experiment.path, created).unwrap());
        std::mem::forget(Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &owner).unwrap());
        owner
    }
}

/// Like this process, but started earlier: no process is that.
fn dead() -> Owner {
    let owner = Owner::current().unwrap();
    Owner { start_time: owner.start_time - 1, ..owner }
}

#[test]
fn leftovers_of_a_killed_process_go_without_a_trace() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let owner = scene.killed_in(&experiment, true);
    let removed = scene.registry.sweep().unwrap();
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].partial_runs, [format!(".0000-r1{}", suffix(&owner))]);
    assert!(removed[0].directory_removed);
    assert!(removed[0].line().contains(&format!("(pid {}, killed)", owner.pid)));
    assert_eq!(fs::read_dir(scene.folder.path()).unwrap().count(), 0);
    assert_eq!(scene.registry.sweep().unwrap(), []);
}

/// Killed between the directory and its owner's file, or before there was anything in that.
#[test]
fn a_run_without_its_owners_file_goes_by_the_dead_ones_entry() {
    for written in [None, Some("")] {
        let scene = Scene::new();
        let experiment = scene.experiment("e");
        let owner = scene.killed_in(&experiment, false);
        let path = |owner: &Owner| experiment.runs().join(format!(".0001-r1{}", suffix(owner)));
        let (own, others) = (path(&owner), path(&Owner { pid: owner.pid + 1, ..owner.clone() }));
        for directory in [&own, &others] {
            fs::create_dir(directory).unwrap();
            written.iter().for_each(|text| fs::write(directory.join(OWNER), text).unwrap());
        }
        assert_eq!(scene.registry.sweep().unwrap()[0].partial_runs.len(), 2);
        assert!(!own.exists(), "its process is dead");
        assert!(others.exists(), "nobody knows of its process");
    }
}

#[test]
fn an_experiment_without_its_lock_goes_by_the_dead_ones_entry() {
    let scene = Scene::new();
    let (target, owner) = (scene.path("e"), dead());
    let path = |owner: &Owner| scene.path(&format!(".e{}", suffix(owner)));
    let (own, others) = (path(&owner), path(&Owner { pid: owner.pid + 1, ..owner.clone() }));
    std::mem::forget(scene.registry.enter(&owner, &target, true).unwrap());
    fs::create_dir(&own).unwrap();
    fs::create_dir(&others).unwrap();
    scene.registry.sweep().unwrap();
    assert!(!own.exists() && others.exists());
}

#[test]
fn finished_runs_and_the_users_own_files_stay() {
    let scene = Scene::new();
    let (finished, noted) = (scene.experiment("finished"), scene.experiment("noted"));
    let owner = scene.killed_in(&finished, true);
    let partial = Partial::create(&finished.runs(), &FileName::cleaned("0001-r1"), &owner).unwrap();
    tiny::write(partial, &tiny::record());
    scene.registry.sweep().unwrap();
    assert!(finished.runs().join("0001-r1/manifest.json").exists());
    assert_eq!(finished.run_directories().unwrap().len(), 1);
    assert_eq!(fs::read_dir(finished.runs()).unwrap().count(), 1);

    fs::write(noted.path.join("notes.txt"), "mine").unwrap();
    scene.killed_in(&noted, true);
    assert!(!scene.registry.sweep().unwrap()[0].directory_removed);
    assert!(noted.path.join("notes.txt").exists() && noted.path.join("experiment.json").exists());
}

#[test]
fn a_directory_that_was_there_before_stays() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    scene.killed_in(&experiment, false);
    assert!(!scene.registry.sweep().unwrap()[0].directory_removed);
    assert!(experiment.path.join("experiment.json").exists());
}

#[test]
fn a_living_process_keeps_its_own() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let owner = Owner::current().unwrap();
    let entry = scene.registry.enter(&owner, &experiment.path, true).unwrap();
    let partial = Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &owner).unwrap();
    assert_eq!(scene.registry.sweep().unwrap(), []);
    assert_eq!(fs::read_dir(experiment.runs()).unwrap().count(), 1);
    drop(partial);
    drop(entry);
    assert!(!scene.path("registry").exists());
}

#[test]
fn what_another_process_wrote_is_left_alone() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let owner = scene.killed_in(&experiment, true);
    let foreign = experiment.runs().join(format!(".other{}", suffix(&owner)));
    let unsigned = experiment.runs().join(format!(".unsigned{}", suffix(&owner)));
    let link = experiment.runs().join(format!(".link{}", suffix(&owner)));
    let outside = scene.path("outside");
    for path in [&foreign, &unsigned, &outside] {
        fs::create_dir(path).unwrap();
    }
    let other = Owner { pid_namespace: "pid:[1]".to_owned(), ..owner.clone() };
    fs::write(foreign.join(OWNER), serde_json::json!(other).to_string()).unwrap();
    fs::write(outside.join(OWNER), serde_json::json!(owner).to_string()).unwrap();
    fs::write(unsigned.join("notes.txt"), "a user's own").unwrap();
    std::os::unix::fs::symlink(&outside, &link).unwrap();
    let removed = scene.registry.sweep().unwrap();
    assert_eq!(removed[0].partial_runs, [format!(".0000-r1{}", suffix(&owner))]);
    assert!(!removed[0].directory_removed);
    assert!(foreign.exists() && unsigned.exists() && link.exists());
    assert!(outside.join("owner.json").exists());
}

#[test]
fn an_entry_without_its_directory_goes_and_a_strange_file_stays() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    scene.killed_in(&experiment, true);
    fs::remove_dir_all(&experiment.path).unwrap();
    fs::write(scene.path("registry/notes"), "mine").unwrap();
    assert_eq!(scene.registry.sweep().unwrap().len(), 1);
    let left: Vec<_> = fs::read_dir(scene.path("registry")).unwrap().collect();
    assert_eq!(left.len(), 1);
}

#[test]
fn a_folder_that_others_can_write_is_refused_and_not_believed() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    scene.killed_in(&experiment, true);
    fs::set_permissions(scene.path("registry"), fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(scene.registry.sweep().unwrap(), []);
    assert_eq!(fs::read_dir(experiment.runs()).unwrap().count(), 1);
    let owner = Owner::current().unwrap();
    let refused = scene.registry.enter(&owner, &experiment.path, true);
    let told = refused.unwrap_err().to_string();
    assert!(told.contains("no directory to note this run in") && told.contains("belong to others"), "{told}");
    // A simulation leaves nothing but its own directory behind.
    let entry = scene.registry.clone().optional(true).enter(&owner, &experiment.path, true).unwrap();
    assert!(entry.place.is_none());
}

#[test]
fn where_somebody_else_has_the_first_folder_the_next_one_is_taken() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let temporary = ["tmp", "shm", "var-tmp"].map(|name| scene.path(name));
    temporary.iter().for_each(|folder| fs::create_dir(folder).unwrap());
    let own = uid().unwrap();
    let paths = temporary.each_ref().map(PathBuf::as_path);
    let registry = Registry { roots: roots(None, &scene.path("users"), &paths, own), is_optional: false };
    let name = format!("pipefill-{own}");
    // Anybody may write the one, the other is a link, as somebody else could have put it there.
    fs::create_dir(temporary[0].join(&name)).unwrap();
    fs::set_permissions(temporary[0].join(&name), fs::Permissions::from_mode(0o777)).unwrap();
    std::os::unix::fs::symlink(scene.path("elsewhere"), temporary[1].join(&name)).unwrap();
    let owner = Owner::current().unwrap();
    let entry = registry.enter(&owner, &experiment.path, false).unwrap();
    assert_eq!(fs::read_dir(temporary[2].join(&name)).unwrap().count(), 1);
    drop(entry);
    assert!(!temporary[2].join(&name).exists() && temporary[0].join(&name).exists());
}

/// Like this process, but of another container.
fn foreign() -> Owner {
    Owner { pid_namespace: "pid:[1]".to_owned(), ..Owner::current().unwrap() }
}

#[test]
fn an_experiment_is_swept_of_the_dead_without_a_registry() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let killed = dead();
    std::mem::forget(Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &killed).unwrap());
    let current = Owner::current().unwrap();
    // The same number as the killed one's, as every container's first process has: not in the way.
    let living = Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &current).unwrap();
    let elsewhere = Owner { start_time: current.start_time + 1, ..foreign() };
    std::mem::forget(Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &elsewhere).unwrap());
    let unsigned = experiment.runs().join(format!(".unsigned{}", suffix(&killed)));
    fs::create_dir(&unsigned).unwrap();

    let (removed, unknown) = experiment.sweep().unwrap();
    assert_eq!(removed.len(), 1);
    assert_eq!(removed[0].partial_runs, [format!(".0000-r1{}", suffix(&killed))]);
    assert_eq!(removed[0].directory, experiment.path);
    assert_eq!(unknown.len(), 1);
    assert_eq!((&unknown[0].owner, unknown[0].path.exists()), (&elsewhere, true));
    assert!(unsigned.exists());
    assert_eq!(fs::read_dir(experiment.runs()).unwrap().count(), 3);
    drop(living);
}

/// The directory is shared with another host, on which that process lives.
#[test]
fn what_another_host_is_writing_is_left_alone_and_told() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    let boot_id = "00000000-0000-0000-0000-000000000000".to_owned();
    let owner = Owner { boot_id, host: Some("node7".to_owned()), ..dead() };
    std::mem::forget(scene.registry.enter(&owner, &experiment.path, true).unwrap());
    std::mem::forget(Partial::create(&experiment.runs(), &FileName::cleaned("0000-r1"), &owner).unwrap());
    assert_eq!(scene.registry.sweep().unwrap(), []);
    let (removed, unknown) = experiment.sweep().unwrap();
    assert_eq!((removed.len(), unknown.len()), (0, 1));
    assert!(unknown[0].path.exists() && unknown[0].owner.described().contains("node7"));
}

#[test]
fn an_experiment_that_never_appeared_goes_with_its_process() {
    let scene = Scene::new();
    let (target, owner) = (scene.path("e"), dead());
    std::mem::forget(scene.registry.enter(&owner, &target, true).unwrap());
    let hidden = scene.path(&format!(".e{}", suffix(&owner)));
    fs::create_dir(&hidden).unwrap();
    std::mem::forget(crate::Lock::take(&hidden, &owner).unwrap());
    assert_eq!(scene.registry.sweep().unwrap().len(), 1);
    assert!(!hidden.exists());
}

#[test]
fn a_directory_that_another_process_has_taken_over_stays() {
    let scene = Scene::new();
    let experiment = scene.experiment("e");
    scene.killed_in(&experiment, true);
    let current = Owner::current().unwrap();
    let Attempt::Held(lock) = Lock::take(&experiment.path, &current).unwrap() else { panic!("taken") };
    let removed = scene.registry.sweep().unwrap();
    assert_eq!((removed[0].partial_runs.len(), removed[0].directory_removed), (1, false));
    drop(lock);
}

#[test]
fn a_runtime_directory_of_another_user_is_not_used() {
    let scene = Scene::new();
    let (runtime, own) = (scene.path("runtime"), uid().unwrap());
    let users = scene.path("users");
    let of = |runtime: Option<&PathBuf>, user| roots(runtime.cloned(), &users, &[Path::new("/tmp")], user);
    let temporary = |user: u32| PathBuf::from(format!("/tmp/pipefill-{user}"));
    assert_eq!(of(Some(&runtime), own), [temporary(own)]);
    fs::create_dir(&runtime).unwrap();
    assert_eq!(of(Some(&runtime), own), [runtime.join("pipefill"), temporary(own)]);
    assert_eq!(of(Some(&runtime), own + 1), [temporary(own + 1)]);
    assert_eq!(of(None, own), [temporary(own)]);
    let user = users.join(own.to_string());
    fs::create_dir_all(&user).unwrap();
    assert_eq!(of(None, own), [user.join("pipefill"), temporary(own)]);
    assert_eq!(of(Some(&user), own), [user.join("pipefill"), temporary(own)]);
}

/// Each removes the folder where it is empty, while another one is about to write there.
#[test]
fn programs_that_begin_and_end_at_once_are_all_noted() {
    let scene = Scene::new();
    let current = Owner::current().unwrap();
    let (registry, directory) = (&scene.registry, scene.folder.path());
    thread::scope(|scope| {
        for number in 1..=4 {
            let owner = Owner { start_time: current.start_time + number, ..current.clone() };
            scope.spawn(move || {
                for _ in 0..1000 {
                    let entry = registry.enter(&owner, directory, false).unwrap();
                    assert!(entry.place.as_ref().is_some_and(|(path, _)| path.exists()));
                    registry.entries().unwrap();
                }
            });
        }
    });
    assert!(!scene.path("registry").exists());
}
