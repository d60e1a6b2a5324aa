"""1,000 cells from Python and from the command line, in turn: overhead.py [PAIRS]

Prints the median time of each and the median of the pairs' ratios. Ends with 1 where Python takes more than a tenth longer.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pipefill

BOUND = 1.10
SCENARIO = """
name = "thousand"
[path]
rate = ["10mbit", "20mbit", "30mbit", "40mbit", "50mbit", "60mbit", "70mbit", "80mbit", "90mbit", "100mbit"]
rtt = ["1ms", "2ms", "5ms", "10ms", "20ms", "30ms", "40ms", "50ms", "80ms", "100ms"]
queue = ["20p", "50p", "100p", "200p", "300p", "400p", "500p", "600p", "800p", "1000p"]
[[flow]]
duration = "2s"
[run]
repeat = 1
sample = "100ms"
"""


def on_command_line(file: Path, out: Path) -> None:
    words = [pipefill.program(), "run", str(file), "--on", "sim", "--out", str(out), "--quiet"]
    subprocess.run(words, check=True, stdout=subprocess.DEVNULL)


def in_python(file: Path, out: Path) -> None:
    experiment = pipefill.run(file, out=out)
    assert experiment.cells.num_rows == 1000 and experiment.runs.num_rows == 1000


def main(pairs: int) -> int:
    times: dict[str, list[float]] = {"command line": [], "python": []}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "thousand.toml")
        file.write_text(SCENARIO)
        for pair in range(pairs):
            turns = [("command line", on_command_line), ("python", in_python)]
            for name, run in turns[:: 1 if pair % 2 == 0 else -1]:
                began = time.monotonic()
                run(file, Path(folder, f"{name}-{pair}"))
                times[name].append(time.monotonic() - began)
    ratio = statistics.median(one / other for one, other in zip(times["python"], times["command line"], strict=True))
    for name, all_times in times.items():
        print(f"1,000 cells, {name}: {statistics.median(all_times):.2f} s (median of {pairs})")
    print(f"python takes {ratio:.3f} times as long; the bound is {BOUND}")
    return int(ratio > BOUND)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 5))
