// The data of the page, as crates/report/src/html/model.rs and charts/ write them.

/** Everything in the element `#data`. */
export interface Data {
  charts: Charts;
  runs: Run[];
}

export interface Charts {
  plots: Plot[];
  heats: Heat[];
  repeats: Repeats[];
  losses: Losses[];
}

/** Goodput against a quantity; both axes are logarithmic. */
export interface Plot {
  title: string;
  /** `rtt` in nanoseconds, `loss` in per cent. */
  x: "rtt" | "loss";
  x_range: [number, number];
  y_range: [number, number];
  series: { name: string; points: PlotPoint[]; published: [number, number][] }[];
  lines: { name: string; law: number; points: [number, number][] }[];
}

export interface PlotPoint {
  cell: string;
  label: string;
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  bound: number | null;
  law: string | null;
}

export interface Heat {
  title: string;
  x: { name: string; values: string[] };
  y: { name: string; values: string[] };
  fields: { cell: string; x: number; y: number; bps: number | null }[];
}

export interface Repeats {
  title: string;
  rows: { cell: string; label: string; median: number; bps: number[] }[];
}

export interface Losses {
  title: string;
  places: string[];
  bars: { cell: string; label: string; sent: number; counts: (number | null)[] }[];
}

/** One run; times are microseconds since its first byte. */
export interface Run {
  cell: string;
  label: string;
  repeat: number;
  valid: boolean;
  goodput_bps: number | null;
  length_us: number;
  bucket_us: number;
  /** Each time is the span since the one before. */
  curves: { quantity: string; times: number[]; values: number[] }[];
  /** Time; segments: fast, after a time-out, probes, needless, of no known kind. */
  retransmits: [number, number, number, number, number, number][];
  /** Time and packets. */
  drops: [number, number][];
  /** Stream, from, to, state. */
  states: [number, number, number, string][];
  /** Stream, from, to, limit, and why where that is the congestion window. */
  limits: [number, number, number, string, string | null][];
}
