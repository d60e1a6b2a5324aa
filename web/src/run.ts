// One run over time: panels below one another on one axis of time, with bands that say what limited it and in which state it was.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { Chart, axis, tooltip, type Entry } from "./chart";
import { bubble, button, byId, element } from "./dom";
import { bytes, percent, rate, short, time, wholeStep } from "./format";
import { AREA, DOTS, LINE, TICKS } from "./key";
import type { Head, Run } from "../build/model";
import { colour } from "./theme";

interface CurveStyle {
  name: string;
  panel: string;
  colour: string;
  dashed?: boolean;
  /** A limit of what another curve shows. */
  limit?: boolean;
  /** Filled, and below the others: what limits it lies on its edge, and both are to be seen. */
  filled?: boolean;
}

/** What each quantity is called, where it is drawn, and how. */
const CURVES: Record<string, CurveStyle> = {
  goodput: { name: "goodput", panel: "goodput", colour: "c0" },
  sent: { name: "sent", panel: "goodput", colour: "c6" },
  in_flight: { name: "in flight", panel: "windows", colour: "c0", filled: true },
  cwnd: { name: "cwnd", panel: "windows", colour: "c1" },
  rwnd: { name: "rwnd", panel: "windows", colour: "c3", dashed: true, limit: true },
  queued: { name: "send buffer in use", panel: "send buffer (memory)", colour: "c4" },
  sndbuf: { name: "its limit", panel: "send buffer (memory)", colour: "c7", dashed: true, limit: true },
  srtt: { name: "smoothed RTT", panel: "RTT", colour: "c2" },
  backlog: { name: "waiting at the bottleneck", panel: "queue", colour: "c5" },
  sojourn: { name: "mean wait in the queue", panel: "sojourn time", colour: "c5" },
  probability: { name: "drop or mark probability of the AQM", panel: "probability", colour: "c5" },
  aqm_marks: { name: "marked so far", panel: "marks, drops", colour: "c2" },
  aqm_drops: { name: "dropped so far", panel: "marks, drops", colour: "c1" },
};
/** Panels from above, with the unit of their values. */
const PANELS: [string, (value: number) => string][] = [
  ["goodput", rate],
  ["windows", bytes],
  ["send buffer (memory)", bytes],
  ["RTT", (us) => time(us * 1000)],
  ["queue", bytes],
  ["sojourn time", (us) => time(us * 1000)],
  ["probability", (ppb) => percent(ppb / 1e7)],
  ["marks, drops", (packets) => String(packets)],
];
const KINDS = ["fast", "after a time-out", "probe", "needless", "kind unknown"];
const GOODPUT = "goodput";
/** Goodput that is more than this many times the path's rate is explained. */
const ABOVE = 1.05;
/** The path's rate is drawn where it is less than this many times what was measured. */
const FAR = 4;
/** A limit may be this many times as high as what it limits, until it is drawn at the panel's upper edge. */
const CUT = 2;
const RETRANSMITS = "retransmits";
const DROPS = "drops of the path";
const HEIGHT = { panel: 118, gap: 52, band: 18, bandGap: 6, slider: 56 };

/** What the shown run decides of its curves: colours of pings, by their sizes; names and colours of its flows. */
const OWN = new Map<string, CurveStyle>();

/** A point: microseconds and value. */
type Point = [number, number];

type PathRate = Head["path_rates"][number];

interface Band {
  /** Short, beside the band. */
  name: string;
  /** Whose it is; empty where there is only one. */
  of: string;
  kind: "limit" | "state";
  parts: [number, number, string, string][];
}

/** The choice of a run and its chart. */
export class RunView {
  readonly #runs: Head[];
  /** What is drawn of each, unread. */
  readonly #lines: string[];
  readonly #choice = element("select", { id: "run" });
  readonly #chart: Chart;
  #head: Head;
  #shown: Run;
  #points = new Map<string, Point[]>();

  constructor(runs: Head[], lines: string[]) {
    this.#runs = runs;
    this.#lines = lines;
    const first = Math.max(0, runs.findIndex((run) => run.valid));
    [this.#head, this.#shown] = this.#read(first);
    const tools = byId("run-tools");
    const place = byId("run-chart");
    this.#choice.append(
      ...runs.map((run, number) => element("option", { value: String(number) }, run.valid ? run.label : `${run.label} (invalid)`)),
    );
    this.#choice.value = String(first);
    this.#choice.addEventListener("change", () => { this.#show(Number(this.#choice.value)); });
    const step = (by: number): void => { this.#show((Number(this.#choice.value) + by + runs.length) % runs.length); };
    tools.append(
      element(
        "div",
        { class: "controls" },
        element("label", { for: "run" }, "Run"),
        this.#choice,
        button("‹", "The run before", () => { step(-1); }),
        button("›", "The next run", () => { step(1); }),
      ),
      element("p", { class: "hint", id: "run-note", "aria-live": "polite" }),
    );
    tools.hidden = false;
    place.hidden = false;
    this.#unpack();
    this.#chart = new Chart(place, {
      name: "Run over time",
      height: () => this.#height(),
      entries: () => this.#entries(),
      option: (hidden, width) => this.#option(hidden, width),
      zooms: true,
    });
  }

  /** Shows the first run of a cell. */
  choose(cell: string): void {
    const number = this.#runs.findIndex((run) => run.cell === cell && run.valid);
    if (number >= 0) this.#show(number);
  }

  #show(number: number): void {
    [this.#head, this.#shown] = this.#read(number);
    this.#choice.value = String(number);
    this.#unpack();
    this.#chart.restart();
  }

  #read(number: number): [Head, Run] {
    const [head, line] = [this.#runs[number], this.#lines[number]];
    if (!head || line === undefined) throw new Error(`the page has no run ${number}`);
    return [head, JSON.parse(line) as Run];
  }

  #unpack(): void {
    const [head, run] = [this.#head, this.#shown];
    this.#points = new Map(
      run.curves.map((curve) => {
        let at = 0;
        return [curve.quantity, curve.values.map((value, place): Point => [(at += curve.times[place] ?? 0), value])];
      }),
    );
    OWN.clear();
    for (const { quantity, named } of run.curves) {
      if (named) {
        const [tone = "c6", dashed] = named[1].split(" ");
        OWN.set(quantity, { name: named[0], panel: GOODPUT, colour: tone, dashed: dashed !== undefined });
      } else if (!(quantity in CURVES)) OWN.set(quantity, { name: quantity, panel: "pings", colour: `c${OWN.size % 8}` });
    }
    byId("run-note").textContent =
      `${head.label}${head.valid ? "" : " (an invalid run, not to be believed)"}: ${head.goodput_bps === null ? "no goodput" : rate(head.goodput_bps)} over ${time(run.length_us * 1000)}. ` +
      `Of every ${time(run.bucket_us * 1000)} the least and the largest value are drawn; goodput is a mean.` +
      (this.#isAbovePath() ? " Goodput above the path's rate is data that had waited and came at once." : "");
  }

  /** Whether goodput was above what the path lets through for a moment. */
  #isAbovePath(): boolean {
    return this.#head.path_rates.some(({ bps, of }) => (this.#points.get(of) ?? []).some(([, value]) => value > bps * ABOVE));
  }

  /** The path's rates, where they are not far above what was measured; of both directions one where that is the same. */
  #pathRates(): Map<string, PathRate> {
    const most = this.#most(GOODPUT, new Set(["sent"]));
    const near = this.#head.path_rates.filter(({ bps }) => bps <= FAR * most);
    return new Map(near.map((rate) => [rate.name, rate]));
  }

  #panels(): [string, (value: number) => string][] {
    const used = new Set([...this.#points.keys()].map((quantity) => styleOf(quantity).panel));
    const known = PANELS.filter(([name]) => used.has(name));
    return used.has("pings") ? [...known, ["pings", (us) => time(us * 1000)]] : known;
  }

  #bands(): Band[] {
    const run = this.#shown;
    const bands: Band[] = [];
    for (const [stream, of] of run.bands) {
      const suffix = of === "" ? "" : ` ${/\d+/u.exec(of)?.[0] ?? stream}`;
      const limits = run.limits.filter((limit) => limit[0] === stream);
      if (limits.length > 0) {
        bands.push({
          name: `limit${suffix}`,
          of,
          kind: "limit",
          parts: limits.map(([, from, to, limit, why]) => [from, to, limit, why ? `${limit} (${why.replaceAll("_", " ")})` : limit]),
        });
      }
      const states = run.states.filter((state) => state[0] === stream);
      if (states.length > 0) {
        bands.push({ name: `state${suffix}`, of, kind: "state", parts: states.map(([, from, to, state]) => [from, to, state, state]) });
      }
    }
    return bands;
  }

  #height(): number {
    const bands = this.#bands().length;
    return this.#panels().length * (HEIGHT.panel + HEIGHT.gap) + bands * (HEIGHT.band + HEIGHT.bandGap) + HEIGHT.slider + 30;
  }

  #entries(): Entry[] {
    const curves = [...this.#points.keys()].map((quantity) => ({
      name: styleOf(quantity).name,
      panel: styleOf(quantity).panel,
      colour: colour(styleOf(quantity).colour),
      mark: styleOf(quantity).panel === "pings" ? DOTS : styleOf(quantity).filled ? AREA : LINE,
      dashes: styleOf(quantity).dashed ? "dashed" : "",
      // What a TCP application writes at once, gigabits a second, would leave nothing to see of what arrives.
      off: quantity === "sent" && this.#points.has("cwnd"),
    }));
    const run = this.#shown;
    return [
      ...curves.filter((entry) => entry.panel === GOODPUT),
      ...[...this.#pathRates().values()].map(({ name, dashed }) => ({
        name,
        panel: GOODPUT,
        colour: colour("ink"),
        dashes: dashed ? "dashed" : "",
      })),
      ...(run.retransmits.length > 0 ? [{ name: RETRANSMITS, panel: GOODPUT, colour: colour("bad"), mark: TICKS }] : []),
      ...(run.drops.length > 0 ? [{ name: DROPS, panel: GOODPUT, colour: colour("c4"), mark: TICKS }] : []),
      ...curves.filter((entry) => entry.panel !== GOODPUT),
    ];
  }

  #option(hidden: Set<string>, width: number): Record<string, unknown> {
    const panels = this.#panels();
    const bands = this.#bands();
    const [left, right] = [92, 20];
    const grids = panels.map((_, number) => ({
      left,
      right,
      top: 28 + number * (HEIGHT.panel + HEIGHT.gap),
      height: HEIGHT.panel,
    }));
    const under = panels.length * (HEIGHT.panel + HEIGHT.gap) + 8;
    const bandGrid = { left, right, top: under, height: Math.max(1, bands.length) * (HEIGHT.band + HEIGHT.bandGap) };
    const all = [...grids, bandGrid];
    const last = all.length - 1;
    const times = all.map((_, number) => ({
      ...axis(""),
      show: number !== last || bands.length > 0,
      type: "value",
      gridIndex: number,
      min: 0,
      max: this.#shown.length_us,
      axisLabel: {
        color: colour("ink"),
        hideOverlap: true,
        showMaxLabel: false,
        formatter: (us: number) => short(time(us * 1000)),
      },
      splitLine: { show: number !== last, lineStyle: { color: colour("rule") } },
      splitNumber: Math.max(2, Math.floor(width / 110)),
      axisPointer: { show: true, label: { show: false }, lineStyle: { color: colour("soft") } },
    }));
    const values = panels.map(([name, format], number) => ({
      ...axis(name),
      type: "value",
      gridIndex: number,
      nameTextStyle: { color: colour("soft"), align: "left", padding: [0, 0, 0, -84] },
      ...(format === bytes ? this.#wholeSteps(name, hidden) : { splitNumber: 3 }),
      axisLabel: { color: colour("ink"), formatter: (value: number) => short(format(value)) },
    }));
    const names = {
      ...axis(""),
      show: bands.length > 0,
      type: "category",
      gridIndex: last,
      inverse: true,
      data: bands.map((band) => band.name),
      splitLine: { show: false },
      axisTick: { show: false },
    };
    const panelOf = (quantity: string): number => panels.findIndex(([name]) => name === styleOf(quantity).panel);
    const curves = [...this.#points].reverse().flatMap(([quantity, points]) => {
      const style = styleOf(quantity);
      if (hidden.has(style.name)) return [];
      const own = colour(style.colour);
      const isPing = style.panel === "pings";
      return [
        {
          name: style.name,
          type: isPing ? "scatter" : "line",
          xAxisIndex: panelOf(quantity),
          yAxisIndex: panelOf(quantity),
          data: style.limit ? points.map(([at, value]): Point => [at, Math.min(value, this.#most(style.panel, hidden))]) : points,
          showSymbol: false,
          symbolSize: 5,
          step: style.panel === GOODPUT ? "end" : false,
          lineStyle: { color: own, width: 1.4, type: style.dashed ? "dashed" : "solid" },
          itemStyle: { color: own },
          ...(style.filled ? { z: 1, areaStyle: { color: own, opacity: 0.2 } } : {}),
        },
      ];
    });
    const rates = [...this.#pathRates()].filter(([name]) => !hidden.has(name)).map(([, { bps, dashed }]) => ({
      type: "line",
      xAxisIndex: 0,
      yAxisIndex: 0,
      silent: true,
      showSymbol: false,
      data: [0, this.#shown.length_us].map((at) => [at, bps]),
      lineStyle: { color: colour("ink"), width: 1.5, type: dashed ? "dashed" : "solid" },
      itemStyle: { color: colour("ink") },
      z: 1,
    }));
    const marks = [
      ...(hidden.has(RETRANSMITS) ? [] : [this.#ticks(this.#shown.retransmits.map(([at]) => at), "bad", 0)]),
      ...(hidden.has(DROPS) ? [] : [this.#ticks(this.#shown.drops.map(([at]) => at), "c4", 10)]),
    ];
    return {
      grid: all,
      xAxis: times,
      yAxis: [...values, names],
      axisPointer: { link: [{ xAxisIndex: "all" }] },
      tooltip: { ...tooltip("axis", (params) => bubble(this.#linesAt(params, bands))), axisPointer: { type: "line" } },
      dataZoom: [
        { type: "inside", xAxisIndex: all.map((_, number) => number), filterMode: "none", zoomOnMouseWheel: "ctrl", moveOnMouseMove: true },
        {
          type: "slider",
          xAxisIndex: all.map((_, number) => number),
          filterMode: "none",
          bottom: 8,
          height: 22,
          left,
          right,
          textStyle: { color: colour("ink") },
          labelFormatter: (us: number) => short(time(us * 1000)),
        },
      ],
      series: [...curves, ...rates, ...marks, ...bands.map((band, place) => bandSeries(band, place, last))],
    };
  }

  /** The range and the steps of a panel of bytes, from 0 on. */
  #wholeSteps(panel: string, hidden: Set<string>): Record<string, number> {
    const most = this.#most(panel, hidden);
    const interval = wholeStep(most, 3);
    return { min: 0, max: Math.ceil(most / interval) * interval, interval };
  }

  /** The most that a panel shows: a limit far above everything else does not press that flat. */
  #most(panel: string, hidden: Set<string>): number {
    const highest = (limits: boolean): number => {
      const shown = [...this.#points].filter(([quantity]) => {
        const style = styleOf(quantity);
        return style.panel === panel && !hidden.has(style.name) && (style.limit ?? false) === limits;
      });
      return shown.reduce((most, [, points]) => points.reduce((sofar, [, value]) => Math.max(sofar, value), most), 0);
    };
    const [most, limit] = [highest(false), highest(true)];
    return Math.max(1, most > 0 ? Math.max(most, Math.min(limit, CUT * most)) : limit);
  }

  /** Short strokes at the bottom of the first panel. */
  #ticks(at: number[], tone: string, above: number): Record<string, unknown> {
    return {
      name: tone,
      type: "custom",
      silent: true,
      tooltip: { show: false },
      xAxisIndex: 0,
      yAxisIndex: 0,
      data: at.map((us) => [us, 0]),
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const [x = 0, y = 0] = api.coord([api.value(0), 0]);
        return { type: "line", shape: { x1: x, y1: y - above, x2: x, y2: y - above - 9 }, style: { stroke: colour(tone), lineWidth: 1.5 } };
      },
      clip: true,
    };
  }

  /** Everything that is known of the time under the pointer. */
  #linesAt(params: unknown, bands: Band[]): string[] {
    const items = Array.isArray(params) ? (params as { axisValue?: unknown }[]) : [];
    const at = Number(items[0]?.axisValue ?? 0);
    const panels = this.#panels();
    const values = [...this.#points].flatMap(([quantity, points]) => {
      const style = styleOf(quantity);
      const format = panels.find(([name]) => name === style.panel)?.[1];
      const value = style.panel === "pings" ? nearest(points, at, this.#shown.bucket_us) : standing(points, at);
      return format && value !== null ? [`${style.name}: ${format(value)}`] : [];
    });
    const states = bands.flatMap((band) => {
      const part = band.parts.find(([from, to]) => from <= at && at < to);
      return part ? [`${band.kind === "limit" ? "limited by" : "state"}${band.of && ` (${band.of})`}: ${part[3]}`] : [];
    });
    const bucket = this.#shown.bucket_us;
    const again = this.#shown.retransmits.find(([from]) => from <= at && at < from + bucket);
    const counts = again?.slice(1).flatMap((count, kind) => (count > 0 ? [`${count} ${KINDS[kind] ?? ""}`] : [])) ?? [];
    const dropped = this.#shown.drops.find(([from]) => from <= at && at < from + bucket);
    return [
      `at ${time(at * 1000)}`,
      ...values,
      ...states,
      ...(counts.length > 0 ? [`retransmitted here: ${counts.join(", ")}`] : []),
      ...(dropped ? [`dropped here: ${dropped[1]} packets`] : []),
    ];
  }
}

function styleOf(quantity: string): CurveStyle {
  return OWN.get(quantity) ?? CURVES[quantity] ?? { name: quantity, panel: "pings", colour: "c6" };
}

/** The last value at or before `at`. */
function standing(points: Point[], at: number): number | null {
  let [low, high] = [0, points.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((points[middle]?.[0] ?? Infinity) <= at) low = middle + 1;
    else high = middle;
  }
  return points[low - 1]?.[1] ?? null;
}

/** The value next to `at`, where one is near. */
function nearest(points: Point[], at: number, near: number): number | null {
  const best = points.reduce<Point | null>((found, point) => (found && Math.abs(found[0] - at) <= Math.abs(point[0] - at) ? found : point), null);
  return best && Math.abs(best[0] - at) <= near ? best[1] : null;
}

function bandSeries(band: Band, place: number, axisIndex: number): Record<string, unknown> {
  return {
    type: "custom",
    xAxisIndex: axisIndex,
    yAxisIndex: axisIndex,
    silent: true,
    clip: true,
    tooltip: { show: false },
    data: band.parts.map(([from, to], number) => [from, to, number]),
    encode: { x: [0, 1] },
    renderItem: (params: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
      const part = band.parts[Number(api.value(2))];
      const [from = 0, y = 0] = api.coord([api.value(0), place]);
      const [to = 0] = api.coord([api.value(1), place]);
      const frame = params.coordSys as unknown as { x: number; width: number };
      const [x, end] = [Math.max(from, frame.x), Math.min(to, frame.x + frame.width)];
      if (!part || end < frame.x || x > frame.x + frame.width) return null;
      const wide = Math.max(end - x, 0.5);
      const shape = { type: "rect", shape: { x, y: y - HEIGHT.band / 2, width: wide, height: HEIGHT.band }, style: { fill: colour(`${band.kind}-${part[2]}`) } };
      const words = { type: "text", style: { x: x + 4, y, text: part[2], verticalAlign: "middle", fill: ink(band.kind, part[2]), fontSize: 12, width: wide - 8, overflow: "truncate" } };
      return wide >= 46 ? { type: "group", children: [shape, words] } : shape;
    },
  };
}

/** Black or white, whichever has the larger contrast on that band (WCAG 2's relative luminance; there both have the same at 0.179). */
function ink(kind: string, word: string): string {
  const [red = 0, green = 0, blue = 0] = (colour(`${kind}-${word}`).match(/\d+/gu) ?? []).map(Number);
  const [r = 0, g = 0, b = 0] = [red, green, blue].map((part) => (part / 255) ** 2.2);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b > 0.179 ? "#000" : "#fff";
}
