//! The script and the words for sbatch.

use super::*;
use crate::sweep::tests::described;

#[test]
fn a_script_runs_the_shard_that_slurm_names() {
    let description =
        described(&["--engine", "slurm", "--shards", "4", "--set", "path.rate=[1mbit,2mbit]"]).unwrap();
    let expected = "#!/bin/sh\n# A shard of four.cells: pipefill sweep.\nshard=$SLURM_ARRAY_TASK_ID\n\
        '/opt/a b/pipefill' run '/shared/my sweep/scenario.toml' --on sim --jobs 1 --set 'path.rate=[1mbit,2mbit]' --quiet --resume --shard \
        \"$shard\"/4 --out '/shared/my sweep/shards/'\"$shard\" || [ $? -eq 1 ]\n";
    assert_eq!(script(&description, Path::new("/shared/my sweep"), "'/opt/a b/pipefill'"), expected);
}

#[test]
fn sbatch_is_asked_for_the_shards_that_are_lacking() {
    let more = [
        "--engine",
        "slurm",
        "--shards",
        "4",
        "--cpus",
        "2",
        "--at-once",
        "3",
        "--engine-arg=--partition=long",
    ];
    let words = arguments(&described(&more).unwrap(), &[1, 3, 4]);
    for word in ["--array=1,3-4%3", "--cpus-per-task=2", "--partition=long"] {
        assert!(words.iter().any(|known| known == word), "{word}: {words:?}");
    }
}
