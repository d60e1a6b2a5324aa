//! Whole experiments on a synthetic backend: directories, resumption, invalid runs, failures, stops.

use super::*;
use crate::evaluated::Evaluated;
use crate::reporter::Unreported;
use crate::studies;
use crate::synthetic::{self, Synthetic};
use pipefill_core::file_name::FileName;
use pipefill_core::plan::Selection;
use pipefill_core::problem::ProblemKind;
use pipefill_core::scenario::Style;
use pipefill_store::{Attempt, Lock, Partial};
use tempfile::TempDir;

/// A folder to work in, and the way to run something there.
struct Scene {
    folder: TempDir,
    registry: Registry,
    stop: Stop,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::at(&folder.path().join("registry"));
        Self { folder, registry, stop: Stop::default() }
    }

    fn perform(
        &self,
        backend: &Synthetic,
        asked: &PlannedScenario,
        options: &Options,
    ) -> Result<Finished, Failure> {
        let session =
            Session { backend, registry: &self.registry, stop: &self.stop, base: self.folder.path() };
        let result = session.check(asked).and_then(|()| session.perform(asked, options, &LeavesPage));
        assert!(!self.folder.path().join("registry").exists(), "an entry is left behind");
        result
    }

    fn runs(&self) -> PathBuf {
        self.folder.path().join("pipefill-runs/tiny/runs")
    }
}

/// Leaves the plan's title as the page.
struct LeavesPage;

impl Reporter for LeavesPage {
    fn say(&self, _: &str) {}

    fn finished(
        &self,
        experiment: &ExperimentDirectory,
        evaluated: &Evaluated,
    ) -> Result<Option<PathBuf>, Failure> {
        let page = experiment.path.join("report.html");
        let title = evaluated.result.plan.title.as_deref().unwrap_or_default();
        fs::write(&page, title).map_err(Failure::file("writing", &page))?;
        Ok(Some(page))
    }
}

fn options(resume: bool) -> Options {
    Options { resume, ..Options::default() }
}

/// Whether every run is valid, and whether every expectation holds.
fn judged(result: &Experiment) -> [bool; 2] {
    let mut expectations = result.cells.iter().flat_map(|cell| &cell.expectations);
    [
        result.cells.iter().all(|cell| cell.valid == cell.runs),
        expectations.all(|expectation| expectation.held == Some(true)),
    ]
}

/// What follows `option` in a command, each time that it is there.
fn values(words: &[String], option: &str) -> Vec<String> {
    words.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].clone()).collect()
}

/// What a command asks for.
fn selection(words: &[String]) -> Selection {
    let quick = words.iter().any(|word| word == "--quick");
    Selection { set: values(words, "--set"), only: values(words, "--only"), repeat: None, quick }
}

/// Hidden names too.
fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

const RUNS: [&str; 4] = ["0000-rtt-1ms-r1", "0000-rtt-1ms-r2", "0001-rtt-10ms-r1", "0001-rtt-10ms-r2"];

#[test]
fn an_experiment_is_written_and_read_back() {
    let scene = Scene::new();
    let backend = Synthetic::default();
    let finished = scene.perform(&backend, &synthetic::asked(&[]), &options(false)).unwrap();
    assert_eq!(names(&scene.runs()), RUNS);
    assert_eq!(*backend.ended.lock().unwrap(), RUNS);
    assert_eq!(names(&finished.directory), ["experiment.json", "report.html", "runs", "scenario.toml"]);
    let cells = &finished.result.cells;
    assert_eq!((cells.len(), cells[0].runs, cells[0].valid), (2, 2, 2));
    let goodput = cells[0].goodput_bps.unwrap();
    assert!((79_000_000..=80_000_000).contains(&goodput), "{goodput}");
    assert_eq!(judged(&finished.result), [true, true]);
}

#[test]
fn a_repeat_command_leads_to_the_same_cell() {
    let scene = Scene::new();
    let asked = synthetic::asked(&["path.rate=200mbit", "host.tcp_rmem=4096 131072 6MiB"]);
    let finished = scene.perform(&Synthetic::default(), &asked, &options(false)).unwrap();
    for cell in &finished.result.cells {
        let words = shlex::split(&cell.repeat_command).unwrap();
        assert_eq!(words[..2], ["pipefill", "run"]);
        let again = PlannedScenario::file(Path::new(&words[2]), &selection(&words)).unwrap();
        assert_eq!(again.plan.cells.len(), 1, "{}", cell.repeat_command);
        assert_eq!(again.plan.cells[0].id, cell.id, "{}", cell.repeat_command);
    }
}

#[test]
fn a_studys_repeat_command_names_the_study() {
    let scene = Scene::new();
    let quick = Selection { quick: true, ..Selection::default() };
    let asked = PlannedScenario::study(studies::find("rtt").unwrap(), &quick).unwrap();
    let finished = scene.perform(&Synthetic::default(), &asked, &options(false)).unwrap();
    assert_eq!(finished.result.cells.len(), 7);
    for cell in &finished.result.cells {
        let words = shlex::split(&cell.repeat_command).unwrap();
        assert_eq!(words[..6], ["pipefill", "study", "rtt", "--quick", "--on", "lab"]);
        let again = PlannedScenario::study(studies::find("rtt").unwrap(), &selection(&words)).unwrap();
        let ids: Vec<&str> = again.plan.cells.iter().map(|cell| cell.id.as_str()).collect();
        assert_eq!(ids, [&cell.id], "{}", cell.repeat_command);
    }
}

#[test]
fn several_at_a_time_leave_the_same_records() {
    let scene = Scene::new();
    let together = Options { jobs: 3, ..options(false) };
    let finished = scene.perform(&Synthetic::default(), &synthetic::asked(&[]), &together).unwrap();
    assert_eq!(names(&scene.runs()), RUNS);
    assert!(finished.result.cells.iter().all(|cell| cell.valid == 2));
}

#[test]
fn a_second_experiment_gets_the_next_number() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    let directories = [1, 2].map(|_| {
        let finished = scene.perform(&Synthetic::default(), &asked, &options(false));
        finished.unwrap().directory
    });
    assert!(directories[0].ends_with("pipefill-runs/tiny"));
    assert!(directories[1].ends_with("pipefill-runs/tiny-2"));
}

#[test]
fn an_invalid_run_is_kept_counted_and_repeated() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    let backend = Synthetic { invalid: Some(2), ..Synthetic::default() };
    let finished = scene.perform(&backend, &asked, &options(false)).unwrap();
    assert_eq!(judged(&finished.result), [false, true]);
    assert_eq!(names(&scene.runs()), RUNS);
    assert_eq!((finished.result.cells[0].runs, finished.result.cells[0].valid), (2, 1));

    let again = Synthetic::default();
    let finished = scene.perform(&again, &asked, &options(true)).unwrap();
    assert_eq!(*again.ended.lock().unwrap(), RUNS[1..2]);
    assert_eq!(judged(&finished.result), [true, true]);
}

#[test]
fn an_expectation_that_fails_is_the_result() {
    let scene = Scene::new();
    let slow = Synthetic { rate_bps: Some(20_000_000), invalid: Some(1), ..Synthetic::default() };
    let finished = scene.perform(&slow, &synthetic::asked(&[]), &options(false)).unwrap();
    assert_eq!(judged(&finished.result), [false, false]);
}

#[test]
fn a_stop_keeps_what_is_finished_and_resume_does_the_rest() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    let backend = Synthetic { stops: Some((3, scene.stop.clone())), ..Synthetic::default() };
    let failure = scene.perform(&backend, &asked, &options(false)).unwrap_err();
    let text = failure.render(Style::Plain);
    assert!(text.contains("stopped; 2 of 4 runs are kept"), "{text}");
    assert_eq!(names(&scene.runs()), RUNS[..2]);

    let scene = Scene { stop: Stop::default(), ..scene };
    let rest = Synthetic::default();
    let finished = scene.perform(&rest, &asked, &options(true)).unwrap();
    assert_eq!(*rest.ended.lock().unwrap(), RUNS[2..]);
    assert!(finished.result.cells.iter().all(|cell| cell.valid == 2));
}

#[test]
fn a_stop_in_the_first_run_leaves_no_directory() {
    let scene = Scene::new();
    let backend = Synthetic { stops: Some((1, scene.stop.clone())), ..Synthetic::default() };
    let failure = scene.perform(&backend, &synthetic::asked(&[]), &options(false));
    assert!(failure.unwrap_err().to_string().contains("0 of 4"));
    assert!(!scene.folder.path().join("pipefill-runs/tiny").exists());
}

#[test]
fn a_failure_ends_the_experiment_and_keeps_what_is_finished() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    let backend = Synthetic { fails: Some(2), ..Synthetic::default() };
    let failure = scene.perform(&backend, &asked, &options(false)).unwrap_err();
    let text = failure.render(Style::Plain);
    assert!(text.contains("the cable is out") && text.contains("--resume"), "{text}");
    assert!(text.contains("1 of 4 runs are kept in "), "{text}");
    assert_eq!(names(&scene.runs()), RUNS[..1]);
    assert_eq!(backend.begun.into_inner(), 2);

    let first = Synthetic { fails: Some(1), ..Synthetic::default() };
    let text = scene.perform(&first, &asked, &options(false)).unwrap_err().render(Style::Plain);
    assert!(!text.contains("--resume"), "{text}");
    assert_eq!(names(&scene.folder.path().join("pipefill-runs")), ["tiny"]);
}

#[test]
fn a_directory_that_somebody_writes_is_refused() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    scene.perform(&Synthetic::default(), &asked, &options(false)).unwrap();
    let path = scene.folder.path().join("pipefill-runs/tiny");
    let owner = Owner::current().unwrap();
    let Attempt::Held(lock) = Lock::take(&path, &owner).unwrap() else { panic!("taken") };
    let session = Session {
        backend: &Synthetic::default(),
        registry: &scene.registry,
        stop: &scene.stop,
        base: scene.folder.path(),
    };
    let failure = session.perform(&asked, &options(true), &Unreported).unwrap_err();
    assert!(
        failure.to_string().contains(&format!("another pipefill (pid {}) is at work in", owner.pid)),
        "{failure}"
    );
    drop(lock);
    let elsewhere = Owner { pid_namespace: "pid:[1]".to_owned(), ..owner };
    let Attempt::Held(lock) = Lock::take(&path, &elsewhere).unwrap() else { panic!("taken") };
    let text = session.perform(&asked, &options(true), &Unreported).unwrap_err().render(Style::Plain);
    assert!(text.contains("of another PID namespace) is at work in"), "{text}");
    drop(lock);
    session.perform(&asked, &options(true), &Unreported).unwrap();
}

#[test]
fn a_refusal_comes_before_anything_is_made() {
    let scene = Scene::new();
    let backend = Synthetic { refuses: Some("10ms"), ..Synthetic::default() };
    let failure = scene.perform(&backend, &synthetic::asked(&[]), &options(false)).unwrap_err();
    assert_eq!(failure.render(Style::Plain), "error: there is no cable\nhelp: plug one in");
    assert_eq!(failure.kind(), ProblemKind::Machine);
    assert_eq!((backend.begun.into_inner(), names(scene.folder.path())), (0, Vec::new()));
}

#[test]
fn a_refusal_in_the_middle_tells_what_is_kept() {
    let scene = Scene::new();
    let backend = Synthetic { lacks: Some(3), ..Synthetic::default() };
    let failure = scene.perform(&backend, &synthetic::asked(&[]), &options(false)).unwrap_err();
    let text = failure.render(Style::Plain);
    assert!(text.contains("there is no cable") && text.contains("2 of 4 runs are kept in "), "{text}");
    assert!(text.contains("--resume --out "), "{text}");
    assert_eq!(failure.kind(), ProblemKind::Machine);
}

#[test]
fn what_a_killed_container_left_does_not_block_the_next_one() {
    let scene = Scene::new();
    let asked = synthetic::asked(&[]);
    let first = Synthetic { fails: Some(2), ..Synthetic::default() };
    scene.perform(&first, &asked, &options(false)).unwrap_err();
    let current = Owner::current().unwrap();
    let killed = Owner { start_time: current.start_time - 1, ..current };
    std::mem::forget(Partial::create(&scene.runs(), &FileName::cleaned(RUNS[1]), &killed).unwrap());
    let finished = scene.perform(&Synthetic::default(), &asked, &options(true)).unwrap();
    assert_eq!(names(&scene.runs()), RUNS);
    assert_eq!(judged(&finished.result), [true, true]);
}

#[test]
fn a_continued_experiment_is_judged_by_what_is_asked_now() {
    let scene = Scene::new();
    scene.perform(&Synthetic::default(), &synthetic::asked(&[]), &options(false)).unwrap();
    let mut stricter = synthetic::asked(&["expect.goodput=>= 90mbit"]);
    stricter.text.push_str("# stricter\n");
    stricter.plan.title = Some("A stricter one".to_owned());
    let backend = Synthetic::default();
    let finished = scene.perform(&backend, &stricter, &options(true)).unwrap();
    assert_eq!(backend.begun.into_inner(), 0);
    assert_eq!(judged(&finished.result), [true, false]);
    assert_eq!(finished.result.plan, stricter.plan);

    let path = scene.folder.path().join("pipefill-runs/tiny");
    assert_eq!(names(&path), ["experiment.json", "report.html", "runs", "scenario.toml"]);
    assert_eq!(fs::read_to_string(path.join("scenario.toml")).unwrap(), stricter.text);
    assert_eq!(fs::read_to_string(path.join("report.html")).unwrap(), "A stricter one");
    let stored = ExperimentDirectory::open(&path).unwrap().unwrap().stored;
    assert_eq!((&stored.plan, &stored.set), (&stricter.plan, &stricter.selection.set));
}

#[test]
fn the_same_cells_under_other_names_are_another_experiment() {
    let scene = Scene::new();
    scene.perform(&Synthetic::default(), &synthetic::asked(&[]), &options(false)).unwrap();
    let renamed = synthetic::asked(&["path.rtt=[1000us, 10ms]"]);
    let out = Options { out: Some(scene.folder.path().join("pipefill-runs/tiny")), ..options(true) };
    let failure = scene.perform(&Synthetic::default(), &renamed, &out).unwrap_err();
    assert!(failure.render(Style::Plain).contains("under other names"), "{failure}");
}
