"""The package beside the program: the same figures, the same errors."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pandas
import pipefill
import polars
import pyarrow
import pytest

SCENARIO = {
    "name": "two",
    "path": {"rtt": ["10ms", "80ms"], "rate": "100mbit"},
    "receiver": {"tcp_rmem": "4096 131072 512KiB"},
    "flow": [{"duration": "1s"}],
    "run": {"repeat": 2, "seed": 7},
}


@pytest.fixture(scope="module")
def experiment(tmp_path_factory: pytest.TempPathFactory) -> pipefill.Experiment:
    return pipefill.run(SCENARIO, out=tmp_path_factory.mktemp("run") / "two")


def test_cells_are_those_of_the_report(experiment: pipefill.Experiment) -> None:
    printed = json.loads(pipefill.command("report", experiment.directory, "--json"))
    rows = experiment.cells.to_pylist()
    assert [row["path.rtt"] for row in rows] == ["10ms", "80ms"]
    for row, cell in zip(rows, printed["cells"], strict=True):
        assert row["goodput_bps"] == cell["goodput_bps"] > 0
        assert row["limited_by"] == cell["limited_by"]
        assert dict(row["limited_fraction"]) == pytest.approx(cell["limited_fraction"])
    assert rows[1]["limited_by"] == "rwnd"


def test_runs_are_a_row_each(experiment: pipefill.Experiment) -> None:
    rows = experiment.runs.to_pylist()
    values = [run for cell in experiment.report["cells"] for run in cell["run_values"]]
    assert len(rows) == len(values) > 0
    assert [(row["repeat"], row["goodput_bps"]) for row in rows] == [(run["repeat"], run["goodput_bps"]) for run in values]
    assert all(row["valid"] for row in rows)


def test_a_verdict_is_a_row_for_each_flow(experiment: pipefill.Experiment) -> None:
    slow = experiment.verdicts.to_pylist()[1]
    assert (slow["path.rtt"], slow["flow"], slow["protocol"], slow["limited_by"]) == ("80ms", 0, "tcp", "rwnd")
    assert "window" in slow["verdict"] and slow["advice"]


def test_where_the_time_went_is_a_row_for_each_holder(experiment: pipefill.Experiment) -> None:
    rows = experiment.time.to_pylist()
    for cell in experiment.report["cells"]:
        for flow in cell["flows"]:
            held = [row for row in rows if row["path.rtt"] == cell["axes"]["path.rtt"] and row["flow"] == flow["flow"]]
            assert sum(row["us"] for row in held) == flow["span_us"]
            assert held[0]["limited_by"] == flow["limited_by"] and held[0]["direction"] == "forward"
    assert experiment.time.schema.field("cause").type == pyarrow.string()


def test_queues_with_a_discipline_have_a_row_and_samples(tmp_path: Path) -> None:
    managed = pipefill.run(SCENARIO, out=tmp_path / "aqm", repeat=1, quick=True, set={"path.aqm": "fq_codel"})
    queues = managed.queues.to_pylist()
    assert [(queue["path.rtt"], queue["direction"], queue["kind"]) for queue in queues] == [
        ("10ms", "forward", "fq_codel"),
        ("80ms", "forward", "fq_codel"),
    ]
    assert all(queue["packets"] > 0 and queue["target_us"] == 5_000 for queue in queues)
    samples = managed.samples("aqm", cell={"path.rtt": "10ms"})
    assert samples["packets"].to_pylist()[-1] == queues[0]["packets"]
    assert managed.queues.schema.field("dropped_packets").type == pyarrow.uint64()


def test_axes_are_numbers_too(experiment: pipefill.Experiment) -> None:
    for table in (experiment.cells, experiment.runs, experiment.verdicts, experiment.time):
        pairs = dict(zip(table["path.rtt"].to_pylist(), table["path_rtt_s"].to_pylist(), strict=True))
        assert pairs == {"10ms": 0.01, "80ms": 0.08}


def test_samples_are_a_row_each(experiment: pipefill.Experiment) -> None:
    samples = experiment.samples()
    runs = experiment.runs.num_rows
    assert len(set(samples["directory"].to_pylist())) == runs > 1
    assert set(samples["path_rtt_s"].to_pylist()) == {0.01, 0.08} and set(samples["flow"].to_pylist()) == {0}
    records = next(Path(experiment.directory).glob("runs/*/tcp.jsonl.zst"))
    own = experiment.samples(run=records.parent.name).to_pylist()
    with pyarrow.input_stream(str(records), compression="zstd") as text:
        rows = [json.loads(line) for line in text.read().splitlines()]
    assert [(row["t_us"], row["end"], row["cwnd_bytes"]) for row in own] == [
        (row["t_us"], row["end"], row["cwnd_bytes"]) for row in rows
    ]
    # Before the first loss there is no threshold; the records have a number for it.
    assert any(row["ssthresh_bytes"] == 2**53 - 1 for row in rows) and own[0]["ssthresh_bytes"] is None
    assert samples["delivery_rate_bps"].type == pyarrow.int64()


def test_samples_are_of_a_cell_a_run_and_a_flow(experiment: pipefill.Experiment) -> None:
    slow = experiment.samples(cell={"path.rtt": "80ms"}, run=1, flow=0)
    assert set(slow["cell"].to_pylist()) == {1} and set(slow["repeat"].to_pylist()) == {1}
    assert experiment.samples(cell=1, run=1).equals(slow)
    assert experiment.samples("delivery", cell=1)["received_bytes"].to_pylist()[-1] > 0
    assert "element" in experiment.samples("path", cell=1).column_names
    assert polars.from_arrow(slow).height == len(slow.to_pandas()) == slow.num_rows
    for options in ({"cell": 2}, {"run": 9}, {"cell": {"path.rtt": "1ms"}}, {"table": "udp"}, {"table": "none"}, {"table": "path", "flow": 0}):
        with pytest.raises(pipefill.Error):
            experiment.samples(**options)


def test_an_experiment_that_keeps_figures_alone_has_no_samples(tmp_path: Path) -> None:
    summary = pipefill.run(SCENARIO, out=tmp_path / "summary", repeat=1, quick=True, records="summary")
    with pytest.raises(pipefill.Error, match="no samples"):
        summary.samples()


def test_types_do_not_depend_on_what_was_measured(experiment: pipefill.Experiment) -> None:
    assert experiment.cells.schema.field("lost_percent").type == pyarrow.float64()
    assert experiment.cells["lost_percent"].null_count == 2
    assert not any(pyarrow.types.is_null(field.type) for field in experiment.cells.schema)


def test_polars_and_pandas_take_the_tables(experiment: pipefill.Experiment) -> None:
    for table in (experiment.cells, experiment.runs, experiment.verdicts, experiment.time):
        assert polars.from_arrow(table).height == table.num_rows
        assert len(table.to_pandas()) == table.num_rows
    assert isinstance(experiment.cells.to_pandas(), pandas.DataFrame)


def test_an_experiment_is_loaded_again(experiment: pipefill.Experiment) -> None:
    again = pipefill.load(experiment.directory)
    assert again.cells.equals(experiment.cells) and again.name == "two"


def test_a_notebook_shows_text_as_text() -> None:
    cell = {"axes": {"<i>": "&"}, "runs": 2, "valid": 1, "goodput_bps": 33_700_000, "limited_by": None, "verdict": "a < b"}
    shown = pipefill.Experiment("x", {"experiment": "<b>", "cells": [cell] * 101})._repr_html_()
    assert "&lt;b&gt;" in shown and "&lt;i&gt;" in shown and "a &lt; b" in shown and "<i>" not in shown
    assert "33.7 Mbit/s" in shown and "1 of 2 valid" in shown and "1 more cells" in shown


def test_a_scenario_is_a_file_a_text_or_a_mapping(tmp_path: Path) -> None:
    text = 'name = "t"\n[path]\nrtt = "1ms"\n[[flow]]\nduration = "1s"\n'
    file = tmp_path / "-t.toml"
    file.write_text(text)
    mapping = {"name": "t", "path": {"rtt": "1ms"}, "flow": [{"duration": "1s"}]}
    plans = [pipefill.plan(scenario) for scenario in (text, file, str(file), mapping)]
    assert all(one == plans[0] for one in plans)


def test_values_of_every_kind_are_written(tmp_path: Path) -> None:
    plan = pipefill.plan(SCENARIO, set={"path.rtt": ["1ms", "2ms", "3ms"], "path.rate": "1gbit", "run.capture": True}, repeat=3)
    assert len(plan["cells"]) == 3
    assert len(pipefill.plan(SCENARIO, only=["path.rtt=10ms"])["cells"]) == 1
    with pytest.raises(TypeError, match="a scenario has no value"):
        pipefill.plan({"name": object()})


def test_errors_are_the_programs_own(tmp_path: Path) -> None:
    text = 'name = "t"\n[path]\nrtt = "10"\n'
    with pytest.raises(pipefill.Error) as raised:
        pipefill.run(text, out=tmp_path / "none")
    said = subprocess.run([pipefill.program(), "run", "-", "--on", "sim"], input=text, capture_output=True, text=True).stderr
    assert str(raised.value) == said.strip() and raised.value.exit_code == 2
    assert not isinstance(raised.value, pipefill.Unsupported) and not (tmp_path / "none").exists()


def test_what_a_machine_cannot_do_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "pipefill"
    program.write_text("#!/bin/sh\necho 'error: no namespaces' >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PIPEFILL", str(program))
    with pytest.raises(pipefill.Unsupported, match="no namespaces"):
        pipefill.command("doctor")


def test_an_expectation_that_fails_is_a_result(tmp_path: Path) -> None:
    scenario = SCENARIO | {"expect": {"goodput": ">= 1gbit"}}
    experiment = pipefill.run(scenario, out=tmp_path / "out", only="path.rtt=10ms", repeat=1, records="summary")
    assert experiment.exit_code == 1 and not experiment.ok and experiment.cells.num_rows == 1


def test_the_program_chooses_a_directory_where_none_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    experiment = pipefill.run(SCENARIO, quick=True)
    assert experiment.directory == Path("pipefill-runs/two") and (experiment.directory / "experiment.json").exists()


def test_the_program_ends_with_a_python_that_is_killed(tmp_path: Path) -> None:
    scenario = {**SCENARIO, "path": {"rtt": "10ms", "rate": "100mbit", "loss": "1%"}, "flow": [{"duration": "10000s"}]}
    code = f"import pipefill; pipefill.run({scenario!r}, out={str(tmp_path / 'killed')!r})"
    python = subprocess.Popen([sys.executable, "-B", "-c", code])

    def started_by_it() -> set[int]:
        processes = [process for process in Path("/proc").glob("[0-9]*") if str(tmp_path).encode() in _words(process)]
        return {int(process.name) for process in processes} - {python.pid}

    _wait_until(lambda: bool(started_by_it()))
    python.kill()
    python.wait()
    try:
        _wait_until(lambda: not started_by_it())
    finally:
        for process in started_by_it():
            os.kill(process, signal.SIGKILL)


def _words(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def _wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < until, "it did not happen in 30 s"
        time.sleep(0.02)


SS = (
    "ESTAB 0 262140 10.0.0.1:48122 10.0.0.2:9000\n"
    "\t skmem:(r0,rb131072,t0,tb2626560,f0,w300000,o0,bl0,d0) cubic wscale:7,7 rto:252 rtt:50/0.02 mss:1448 cwnd:400"
    " bytes_acked:9425112 segs_out:9000 segs_in:4000 unacked:180 delivery_rate 41900000bps busy:2000ms notsent:100000"
    " minrtt:50 snd_wnd:262140\n"
)


def test_what_another_program_printed_is_explained(tmp_path: Path) -> None:
    found = pipefill.explain(SS)
    assert found["connections"][0]["limited_by"] == "rwnd"
    (tmp_path / "pasted").write_text(SS)
    assert pipefill.explain(tmp_path / "pasted") == found
    with pytest.raises(pipefill.Error, match="no connection|known program"):
        pipefill.explain("nothing\nof the kind\n")


def test_a_capture_has_its_flows(tmp_path: Path) -> None:
    experiment = pipefill.run({**SCENARIO, "run": {"repeat": 1}}, out=tmp_path / "captured", only="path.rtt=10ms", capture=True)
    capture = next(Path(experiment.directory).glob("runs/*/artifacts/sender.pcapng"))
    found = pipefill.pcap(capture)
    assert found["schema"] == 1 and found["flows"][0]["goodput_bps"] > 0


def test_the_version_is_the_programs() -> None:
    assert pipefill.__version__ == pipefill.version()
