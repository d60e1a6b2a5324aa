//! CPU time of another process, and the CPU quota of its cgroup: what /proc and the cgroup file systems of both versions show.

use crate::threads::Scheduled;
use pipefill_core::record::CpuQuota;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Threads of one process that are read: a process with more shows its first ones.
const THREADS_MAX: usize = 64;
/// One tick of `/proc/PID/stat` (`USER_HZ` = 100).
const TICK_US: u64 = 10_000;

/// Where the counters of a process are.
#[derive(Debug)]
pub struct ProcessCpu {
    /// Its threads: `/proc/PID/task`.
    tasks: PathBuf,
    quota: Option<QuotaFiles>,
}

/// Where the counters of a cgroup with a quota are.
#[derive(Debug)]
struct QuotaFiles {
    quota: CpuQuota,
    stat: PathBuf,
    /// `cpuacct.usage`, which `cpu.stat` of version 1 does not have.
    usage: Option<PathBuf>,
}

/// What was counted by one time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CpuReading {
    /// Of each thread.
    pub threads: Vec<ThreadTime>,
    /// Of the cgroup with the quota; `None` where no quota is known.
    pub throttled: Option<Throttled>,
}

/// The scheduler's counts for a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ThreadTime {
    /// Its number.
    pub id: u32,
    /// On a CPU.
    pub cpu_us: u64,
    /// Ready to run, without a CPU; a time in which its cgroup was throttled is in it. `None` where the kernel does not count it.
    pub wait_us: Option<u64>,
}

/// The counts of a cgroup with a quota.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttled {
    /// Periods in which the quota ran out.
    pub periods: u64,
    /// Time in which it was not allowed to run, the sum over the CPUs.
    pub us: u64,
    /// CPU time that it used; `None` where it could not be read.
    pub cpu_us: Option<u64>,
}

impl ProcessCpu {
    /// Of process `pid` of this host.
    pub fn of(pid: u32) -> Self {
        Self::below(Path::new("/"), pid)
    }

    /// The readings of a process, with all files below `root`.
    fn below(root: &Path, pid: u32) -> Self {
        let process = root.join("proc").join(pid.to_string());
        Self { quota: quota_files(root, &process), tasks: process.join("task") }
    }

    /// The quota of its cgroup, or of the next one above that has a quota.
    pub fn quota(&self) -> Option<&CpuQuota> {
        self.quota.as_ref().map(|files| &files.quota)
    }

    /// What is counted now; `None` where the process has ended.
    pub fn read(&self) -> Option<CpuReading> {
        let entries = fs::read_dir(&self.tasks).ok()?;
        let threads: Vec<ThreadTime> =
            entries.take(THREADS_MAX).filter_map(|entry| thread_time(&entry.ok()?.path())).collect();
        let throttled = self.quota.as_ref().and_then(QuotaFiles::read);
        (!threads.is_empty()).then_some(CpuReading { threads, throttled })
    }
}

impl QuotaFiles {
    fn read(&self) -> Option<Throttled> {
        let stat = fs::read_to_string(&self.stat).ok()?;
        let value = |name: &str| {
            let line = stat.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| number.trim().parse::<u64>().ok())
        };
        let us = value("throttled_usec").or_else(|| value("throttled_time").map(|nanos| nanos / 1_000))?;
        let of_file = || number(self.usage.as_ref()?).map(|nanos| nanos / 1_000);
        Some(Throttled { periods: value("nr_throttled")?, us, cpu_us: value("usage_usec").or_else(of_file) })
    }
}

/// By `schedstat` (Documentation/scheduler/sched-stats.rst), or by the ticks of `stat` (proc_pid_stat(5)) where the kernel has none.
fn thread_time(task: &Path) -> Option<ThreadTime> {
    let id = task.file_name()?.to_str()?.parse().ok()?;
    if let Some(Scheduled { cpu_us, wait_us }) =
        fs::read_to_string(task.join("schedstat")).ok().and_then(|text| Scheduled::parse(&text))
    {
        return Some(ThreadTime { id, cpu_us, wait_us: Some(wait_us) });
    }
    let cpu_us = ticks(&fs::read_to_string(task.join("stat")).ok()?)? * TICK_US;
    Some(ThreadTime { id, cpu_us, wait_us: None })
}

/// `utime` and `stime`: fields 14 and 15. The name, field 2, may hold spaces and parentheses.
fn ticks(stat: &str) -> Option<u64> {
    const UTIME_AFTER_NAME: usize = 11;
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut numbers = after_name.split_whitespace().skip(UTIME_AFTER_NAME).map(str::parse::<u64>);
    Some(numbers.next()?.ok()? + numbers.next()?.ok()?)
}

/// A mounted cgroup hierarchy.
struct Hierarchy {
    /// The cgroup that is mounted there.
    root: String,
    mount_point: PathBuf,
    is_version_1: bool,
    /// Its controllers, of version 1.
    options: String,
}

impl Hierarchy {
    /// Of a line of `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
    fn parse(line: &str) -> Option<Self> {
        let (place, kind) = line.split_once(" - ")?;
        let mut place = place.split(' ').skip(3);
        let (root, mount_point) = (place.next()?, place.next()?);
        let mut kind = kind.split(' ');
        let is_version_1 = match kind.next()? {
            "cgroup" => true,
            "cgroup2" => false,
            _ => return None,
        };
        Some(Self {
            root: root.to_owned(),
            mount_point: PathBuf::from(mount_point),
            is_version_1,
            options: kind.nth(1)?.to_owned(),
        })
    }

    /// Whether it is version 1's of `controller`.
    fn has(&self, controller: &str) -> bool {
        self.is_version_1 && self.options.split(',').any(|option| option == controller)
    }

    /// The directory of the cgroup at `path`, relative to the mount point; `None` where it is outside of what is mounted.
    fn relative(&self, path: &str) -> Option<PathBuf> {
        let within = Path::new(path).strip_prefix(&self.root).ok()?;
        within.components().all(|part| matches!(part, Component::Normal(_))).then(|| within.to_owned())
    }
}

/// The cgroup of `process` that has a quota, or the next one above it.
fn quota_files(root: &Path, process: &Path) -> Option<QuotaFiles> {
    let cgroups = fs::read_to_string(process.join("cgroup")).ok()?;
    let mounts = fs::read_to_string(root.join("proc/self/mountinfo")).ok()?;
    let hierarchies: Vec<Hierarchy> = mounts.lines().filter_map(Hierarchy::parse).collect();
    // A line is `number:controllers:path` (cgroups(7)).
    let path_of = |controller: &str| {
        cgroups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            controllers.split(',').any(|known| known == controller).then_some(path)
        })
    };
    let below =
        |hierarchy: &Hierarchy| root.join(hierarchy.mount_point.strip_prefix("/").unwrap_or(Path::new("")));
    let (hierarchy, path) = match path_of("cpu") {
        Some(path) => (hierarchies.iter().find(|hierarchy| hierarchy.has("cpu"))?, path),
        None => (hierarchies.iter().find(|hierarchy| !hierarchy.is_version_1)?, path_of("")?),
    };
    let (relative, mounted) = (hierarchy.relative(path)?, below(hierarchy));
    let (cgroup, quota_us, period_us) = relative.ancestors().find_map(|cgroup| {
        let (quota_us, period_us) = quota(&mounted.join(cgroup), hierarchy.is_version_1)?;
        Some((cgroup, quota_us, period_us))
    })?;
    let file = if hierarchy.is_version_1 { CpuQuota::FILE_1 } else { CpuQuota::FILE };
    // The hierarchy of another controller may have other cgroups.
    let is_the_same = |accounts: &&Hierarchy| accounts.has("cpuacct") && accounts.root == hierarchy.root;
    let accounts = hierarchies.iter().find(is_the_same).filter(|_| path_of("cpuacct") == Some(path));
    Some(QuotaFiles {
        quota: CpuQuota {
            cgroup: hierarchy.mount_point.join(cgroup).to_string_lossy().into_owned(),
            file: file.to_owned(),
            quota_us,
            period_us,
        },
        stat: mounted.join(cgroup).join("cpu.stat"),
        usage: accounts.map(|accounts| below(accounts).join(cgroup).join("cpuacct.usage")),
    })
}

/// Quota and period of the cgroup in `directory`, microseconds; `None` where it may use all CPUs.
fn quota(directory: &Path, is_version_1: bool) -> Option<(u64, u64)> {
    if is_version_1 {
        // -1 where there is none.
        return Some((
            number(&directory.join(CpuQuota::FILE_1))?,
            number(&directory.join("cpu.cfs_period_us"))?,
        ));
    }
    let text = fs::read_to_string(directory.join(CpuQuota::FILE)).ok()?;
    // The quota is `max` where there is none.
    let (quota, period) = text.trim().split_once(' ')?;
    Some((quota.parse().ok()?, period.parse().ok()?))
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    /// A tree of files, each with its text.
    fn tree(files: &[(&str, &str)]) -> TempDir {
        let root = TempDir::new().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    const VERSION_2: &str = "24 1 0:22 / /sys/fs/cgroup rw shared:9 - cgroup2 cgroup2 rw,nsdelegate\n";
    const THREAD: &str = "5000000 1250999 17\n";

    #[test]
    fn a_process_of_version_2_has_the_quota_of_the_next_cgroup_above_that_has_one() {
        let root = tree(&[
            ("proc/self/mountinfo", VERSION_2),
            ("proc/7/cgroup", "0::/pod/container/inner\n"),
            ("proc/7/task/7/schedstat", THREAD),
            ("proc/7/task/9/schedstat", "1000 2000 1\n"),
            ("sys/fs/cgroup/pod/cpu.max", "90000 100000\n"),
            ("sys/fs/cgroup/pod/container/cpu.max", "2000 100000\n"),
            ("sys/fs/cgroup/pod/container/inner/cpu.max", "max 100000\n"),
            (
                "sys/fs/cgroup/pod/container/cpu.stat",
                "usage_usec 90\nuser_usec 1\nnr_periods 5\nnr_throttled 4\nthrottled_usec 70\nnr_bursts 0\n",
            ),
        ]);
        let process = ProcessCpu::below(root.path(), 7);
        let quota = process.quota().unwrap();
        assert_eq!((&*quota.cgroup, &*quota.file), ("/sys/fs/cgroup/pod/container", "cpu.max"));
        assert_eq!((quota.quota_us, quota.period_us), (2_000, 100_000));
        let mut reading = process.read().unwrap();
        reading.threads.sort_by_key(|thread| thread.id);
        let times: Vec<_> =
            reading.threads.iter().map(|thread| (thread.id, thread.cpu_us, thread.wait_us)).collect();
        assert_eq!(times, [(7, 5_000, Some(1_250)), (9, 1, Some(2))]);
        assert_eq!(reading.throttled, Some(Throttled { periods: 4, us: 70, cpu_us: Some(90) }));
    }

    #[test]
    fn version_1_counts_nanoseconds_and_its_usage_lies_elsewhere() {
        let mounts = "30 1 0:26 / /cg/cpu rw - cgroup cgroup rw,cpu\n31 1 0:27 / /cg/acct rw - cgroup cgroup rw,cpuacct\n";
        let files = |accounts: &'static str| {
            tree(&[
                ("proc/self/mountinfo", mounts),
                ("proc/7/cgroup", accounts),
                ("proc/7/task/7/stat", "7 (a ) b) S 1 1 1 0 -1 0 0 0 0 0 3 4 0 0 20 0 1 0\n"),
                ("cg/cpu/cpu.cfs_quota_us", "-1\n"),
                ("cg/cpu/box/cpu.cfs_quota_us", "3000\n"),
                ("cg/cpu/box/cpu.cfs_period_us", "50000\n"),
                ("cg/cpu/box/cpu.stat", "nr_periods 9\nnr_throttled 8\nthrottled_time 77000\n"),
                ("cg/acct/box/cpuacct.usage", "12000\n"),
            ])
        };
        let root = files("2:cpuacct:/box\n1:cpu:/box\n0::/\n");
        let process = ProcessCpu::below(root.path(), 7);
        let quota = process.quota().unwrap();
        assert_eq!((&*quota.cgroup, &*quota.file), ("/cg/cpu/box", "cpu.cfs_quota_us"));
        let reading = process.read().unwrap();
        assert_eq!(reading.threads, [ThreadTime { id: 7, cpu_us: 70_000, wait_us: None }]);
        assert_eq!(reading.throttled, Some(Throttled { periods: 8, us: 77, cpu_us: Some(12) }));
        let root = files("2:cpuacct:/\n1:cpu:/box\n");
        let throttled = ProcessCpu::below(root.path(), 7).read().unwrap().throttled.unwrap();
        assert_eq!(throttled.cpu_us, None, "another cgroup's usage is not its own");
    }

    #[test]
    fn a_process_without_a_quota_or_outside_of_the_mounted_cgroup_has_none() {
        let of = |mounts: &'static str, cgroup: &'static str, quota: &'static str| {
            let root = tree(&[
                ("proc/self/mountinfo", mounts),
                ("proc/7/cgroup", cgroup),
                ("proc/7/task/7/schedstat", THREAD),
                ("sys/fs/cgroup/a/cpu.max", quota),
            ]);
            let process = ProcessCpu::below(root.path(), 7);
            assert!(process.read().unwrap().throttled.is_none(), "there is no cpu.stat");
            process.quota().map(|quota| quota.quota_us)
        };
        assert_eq!(of(VERSION_2, "0::/a\n", "5000 100000\n"), Some(5_000));
        assert_eq!(of(VERSION_2, "0::/a\n", "max 100000\n"), None);
        assert_eq!(of(VERSION_2, "0::/../b\n", "5000 100000\n"), None, "another namespace's");
        // A container's own cgroup, mounted as if it were the root.
        let container = "24 1 0:22 /docker/x /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(of(container, "0::/docker/x/a\n", "5000 100000\n"), Some(5_000));
        assert_eq!(of(container, "0::/docker/y/a\n", "5000 100000\n"), None);
        assert_eq!(of("", "0::/a\n", "5000 100000\n"), None, "nothing is mounted");
    }

    #[test]
    fn this_process_has_threads_and_one_that_has_ended_none() {
        let own = ProcessCpu::of(std::process::id()).read().unwrap();
        assert!(own.threads.iter().any(|thread| thread.id == std::process::id()), "{own:?}");
        assert_eq!(ProcessCpu::of(u32::MAX).read(), None);
    }
}
