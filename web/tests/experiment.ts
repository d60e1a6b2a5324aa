// Experiments to look at: made by the simulator in a temporary folder, so that nothing here depends on the machine.
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** The program under test. */
const PIPEFILL = process.env["PIPEFILL"] ?? "pipefill";

/** A cell of the report's JSON, as far as the tests look at it. */
export interface Cell {
  index: number;
  backend: string | null;
  axes: Record<string, string>;
  goodput_bps: number | null;
  goodput_bps_low: number | null;
  goodput_bps_high: number | null;
  goodput_coverage: number | null;
  offered_bps: number | null;
  lost_percent: number | null;
  jitter_ns: number | null;
  retransmits: number | null;
  srtt_us_p50: number | null;
  cwnd_bytes_p50: number | null;
  rwnd_bytes_p50: number | null;
  in_flight_bytes_p50: number | null;
  limited_by: string | null;
  published: { goodput_bps: number | null; lost_percent: number | null; retransmits: number | null } | null;
}

/** An experiment on disk. */
export interface Experiment {
  page: string;
  cells: Cell[];
}

/** A folder that goes with the process. */
export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), "pipefill-page-"));
  process.on("exit", () => { rmSync(made, { recursive: true, force: true }); });
  return made;
}

/** Runs `pipefill` with `words`; what it printed. */
export function pipefill(words: string[]): string {
  return execFileSync(PIPEFILL, words, { encoding: "utf8", maxBuffer: 1 << 30, stdio: ["ignore", "pipe", "inherit"] });
}

/** Runs `words` in the simulator, with records in `out`; where its page is. */
export function pageOf(words: string[], out: string): string {
  pipefill([...words, "--on", "sim", "--quiet", "--out", out]);
  return join(out, "report.html");
}

/** The same with the report's JSON. */
export function run(words: string[], out: string): Experiment {
  const page = pageOf(words, out);
  const report = JSON.parse(pipefill(["report", out, "--json"])) as { cells: Cell[] };
  return { page, cells: report.cells };
}

/** Writes the page of the records in `out` anew; where it is. */
export function renewed(out: string): string {
  const page = join(out, "renewed.html");
  pipefill(["report", out, "--format", "html", "-o", page]);
  return page;
}
