// The data of the page, as crates/report/src/html/model.rs and charts/ write them.

/** Everything in the element `#data`. */
export interface Data {
  charts: Charts;
  /** In the order of the lines of `#curves`. */
  runs: Head[];
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
  /** Of measured over the lowest bound; null where theory says nothing. */
  ratio_range: [number, number] | null;
  series: { name: string; points: PlotPoint[]; published: [number, number][] }[];
  /** `series`: whose line it is, where it is not that of all. */
  lines: { name: string; law: number; series: number | null; points: [number, number][] }[];
}

export interface PlotPoint {
  cell: string;
  label: string;
  x: number;
  y: number;
  low: number | null;
  high: number | null;
  /** The share of such intervals that hold the true median. */
  coverage: number | null;
  bound: number | null;
  law: string | null;
}

/** All cells of a variant by the axes in which they differ: at least two. */
export interface Heat {
  title: string;
  axes: { name: string; values: string[] }[];
  /** `at`: the place on each axis. */
  fields: { cell: string; at: number[]; bps: number | null }[];
}

export interface Repeats {
  title: string;
  /** `quartiles`: between these the middle half lies. */
  rows: { cell: string; label: string; median: number; quartiles: [number, number] | null; bps: number[] }[];
}

export interface Losses {
  title: string;
  places: string[];
  bars: { cell: string; label: string; sent: number; counts: (number | null)[] }[];
}

/** What is said of every run. */
export interface Head {
  cell: string;
  label: string;
  valid: boolean;
  goodput_bps: number | null;
}

/** What is drawn of one, a line of the element `#curves`; times are microseconds since its first byte. */
export interface Run {
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
