// What the page has of a connection: levels of detail, and every segment of some parts. Which of them a view shows.
import type { Marks, Packed, Shows } from "../build/model";

/** Marks in the order of time, as columns; times are nanoseconds. */
export interface Layer {
  shows: Shows;
  from: Float64Array;
  to: Float64Array;
  low: Float64Array;
  high: Float64Array;
  count: Float64Array;
}

export interface Level {
  cell: number;
  layers: Map<Shows, Layer>;
}

/** A direction of a connection. */
export interface Flow {
  range: Span;
  /** Where every segment is there. */
  every: Span[];
  /** The finest first. */
  levels: Level[];
  /** What is the same at every level. */
  rare: Map<Shows, Layer>;
  single: Map<Shows, Layer>;
  payload: Packed["payload"];
}

/** From and to, nanoseconds. */
export type Span = [number, number];

/** A part of a layer: marks `first` up to but without `last`, as far as they are not `hidden`. */
export interface Part {
  layer: Layer;
  first: number;
  last: number;
  hidden: Span[];
}

/** A mark alone. */
export interface Mark {
  shows: Shows;
  from: number;
  to: number;
  low: number;
  high: number;
  count: number;
}

/** Pixels that a level's cells may be wide until finer ones are drawn. */
const WIDE = 2;
/** So many marks are drawn each. */
const FEW = 5000;

/** Reads a line of the page's element `#segments`: base64 of gzip of JSON. */
export async function unpack(line: string, range: Span): Promise<Flow> {
  const bytes = Uint8Array.from(atob(line), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const packed = JSON.parse(await new Response(stream).text()) as Packed;
  return {
    range,
    every: packed.every_ns,
    levels: packed.levels.map((level) => ({ cell: level.cell_ns, layers: layers(level.layers) })),
    rare: layers(packed.rare),
    single: layers(packed.every),
    payload: packed.payload,
  };
}

function layers(all: Marks[]): Map<Shows, Layer> {
  return new Map(all.map((marks) => [marks.shows, layer(marks)]));
}

/** Columns of differences as values. */
function layer(marks: Marks): Layer {
  const size = marks.times.length;
  const [from, to, low, high] = [0, 1, 2, 3].map(() => new Float64Array(size)) as [Float64Array, Float64Array, Float64Array, Float64Array];
  let [time, value] = [0, 0];
  for (let at = 0; at < size; at += 1) {
    time += marks.times[at] ?? 0;
    value += marks.lows[at] ?? 0;
    from[at] = time;
    to[at] = time + (marks.lasts[at] ?? 0);
    low[at] = value;
    high[at] = value + (marks.heights[at] ?? 0);
  }
  const count = marks.counts.length > 0 ? Float64Array.from(marks.counts) : new Float64Array(size).fill(1);
  return { shows: marks.shows, from, to, low, high, count };
}

/** The number of values before the first that is at least `value`. */
export function below(values: Float64Array, value: number): number {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((values[middle] ?? Infinity) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Whether a time lies in one of the spans, which are in order and apart from one another. */
export function isWithin(spans: Span[], at: number): boolean {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((spans[middle]?.[1] ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  const span = spans[low];
  return span !== undefined && span[0] <= at;
}

/** The coarsest level whose cells are narrow in a view of so many pixels; the finest where none is, or where few segments are in view and
 * every one is there: then single segments count too. */
export function levelFor(flow: Flow, view: Span, pixels: number): { level: Level | undefined; isFinest: boolean } {
  if (singles(flow, view) <= FEW && shareOfEvery(flow, view) >= 1) return { level: flow.levels[0], isFinest: true };
  const most = ((view[1] - view[0]) / Math.max(1, pixels)) * WIDE;
  const fits = flow.levels.filter((level) => level.cell <= most).at(-1);
  return { level: fits ?? flow.levels[0], isFinest: fits === undefined };
}

/** How many marks of single segments a view has. */
function singles(flow: Flow, [from, to]: Span): number {
  return [...flow.single.values()].reduce((sum, layer) => sum + below(layer.from, to) - below(layer.from, from), 0);
}

/** What is to be drawn of `shows` in a view, with the mark before it, whose value may hold still. */
export function partsIn(flow: Flow, shows: Shows, view: Span, pixels: number): Part[] {
  const rare = flow.rare.get(shows);
  if (rare) return [part(rare, view, [])];
  const { level, isFinest } = levelFor(flow, view, pixels);
  const coarse = level?.layers.get(shows);
  const single = isFinest ? flow.single.get(shows) : undefined;
  return [
    ...(coarse ? [part(coarse, view, isFinest ? flow.every : [])] : []),
    ...(single ? [part(single, view, [])] : []),
  ];
}

function part(layer: Layer, [from, to]: Span, hidden: Span[]): Part {
  return { layer, first: Math.max(0, below(layer.from, from) - 1), last: below(layer.from, to), hidden };
}

/** Calls `see` for each mark of the parts, a part after the other. */
export function each(parts: Part[], see: (mark: Mark) => void): void {
  for (const { layer, first, last, hidden } of parts) {
    for (let at = first; at < last; at += 1) {
      const from = layer.from[at] ?? 0;
      if (hidden.length > 0 && isWithin(hidden, from)) continue;
      see({ shows: layer.shows, from, to: layer.to[at] ?? 0, low: layer.low[at] ?? 0, high: layer.high[at] ?? 0, count: layer.count[at] ?? 1 });
    }
  }
}

/** All marks of the parts in the order of time. */
export function marksOf(parts: Part[]): Mark[] {
  const all: Mark[] = [];
  each(parts, (mark) => all.push(mark));
  return parts.length > 1 ? all.sort((one, other) => one.from - other.from) : all;
}

/** What share of a view has every segment; what is beyond the connection does not count. */
export function shareOfEvery(flow: Flow, view: Span): number {
  const [from, to] = [Math.max(view[0], flow.range[0]), Math.min(view[1], flow.range[1] + 1)];
  const covered = flow.every.reduce((sum, span) => sum + Math.max(0, Math.min(to, span[1]) - Math.max(from, span[0])), 0);
  return Math.min(1, covered / Math.max(1, to - from));
}

/** Mean rates in a view, in so many steps at most, none shorter than `least`: bits per second. A last one whose time is not over at `end`
 * is left out. */
export function rates(flow: Flow, shows: "throughput" | "goodput", [from, to]: Span, end: number, steps: number, least: number): Mark[] {
  const { from_ns, width_ns, sent, acked } = flow.payload;
  const bytes = shows === "throughput" ? sent : acked;
  const together = Math.max(1, Math.ceil(Math.max((to - from) / steps, least) / width_ns));
  const wide = together * width_ns;
  const marks: Mark[] = [];
  for (let step = Math.max(0, Math.floor((from - from_ns) / wide)); step * together < bytes.length; step += 1) {
    const begin = from_ns + step * wide;
    if (begin >= to || (begin + wide > end && marks.length > 0)) break;
    const sum = bytes.slice(step * together, (step + 1) * together).reduce((all, one) => all + one, 0);
    const bps = (sum * 8e9) / wide;
    marks.push({ shows, from: begin, to: begin + wide, low: bps, high: bps, count: 1 });
  }
  return marks;
}
