// Goodput against a quantity with theory's lines, and below it how much of the lowest line each point has.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { axis, tooltip, type Drawing } from "./chart";
import { bubble } from "./dom";
import { percent, rate, ratio, roundStep, short, time } from "./format";
import { isOf, textOf, type Choose } from "./item";
import { INTERVAL, RING, joined, type Shape } from "./key";
import type { Plot, Point } from "../build/model";
import { colour } from "./theme";

type Series = Plot["series"][number];
type Line = Plot["lines"][number];
type Format = (value: number) => string;

/** As many series as there are colours are shown until somebody asks for more. */
export const COLOURS = 8;
/** Dashes of the laws, as picture.css has them. */
const DASHES: (number[] | "solid")[] = ["solid", [8, 4], [3, 3], [10, 3, 2, 3], [1, 3], [12, 4, 4, 4, 4, 4]];
/** Shapes of the points, as crates/report/src/svg/legend.rs has them. */
const SHAPES: Shape[] = ["circle", "rect", "triangle", "diamond"];
const PUBLISHED = "published";
const WHISKERS = "interval of the median";
const LEFT = 92;
const RIGHT = 22;
const BELOW = 50;
/** Labels of a logarithmic axis. */
const [FEWEST, MOST] = [3, 6];
/** Height of the lower panel, and of the gap above it. */
const LOWER = { panel: 84, gap: 36 };

export function plot(data: Plot, choose: Choose): Drawing {
  const x = data.x === "rtt" ? time : percent;
  return {
    name: data.title,
    height: (width) => Math.max(300, Math.min(460, width * 0.7)) + (data.ratio_range ? LOWER.panel + LOWER.gap : 0),
    entries: () => [
      ...data.series.map((series) => ({
        name: nameOf(series),
        colour: colour(`c${series.tone % COLOURS}`),
        mark: joined(shapeOf(series.tone)),
        off: series.tone >= COLOURS,
      })),
      ...(data.series.some((series) => series.points.some(isWide)) ? [{ name: WHISKERS, colour: colour("soft"), mark: INTERVAL }] : []),
      ...(data.series.some((series) => series.published.length > 0) ? [{ name: PUBLISHED, colour: colour("soft"), mark: RING }] : []),
      ...[...new Map(data.lines.map((line) => [line.name, line.law]))].map(([name, law]) => ({ name, colour: colour("soft"), dashes: `law-${law}` })),
    ],
    zooms: true,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (hidden) => ({
      grid: grids(data),
      tooltip: tooltip("item", (item) => bubble(textOf(item))),
      dataZoom: [{ type: "inside", xAxisIndex: data.ratio_range ? [0, 1] : [0], filterMode: "none", zoomOnMouseWheel: "ctrl" }],
      xAxis: across(data, x),
      yAxis: [
        upward("goodput", 0, data.y_range, rate),
        ...(data.ratio_range ? [upward("measured / lowest line", 1, data.ratio_range, ratio)] : []),
      ],
      series: [
        ...data.lines.filter((line) => isShown(data, line, hidden)).map((line) => lawSeries(data, line, x)),
        ...data.series.flatMap((series) => {
          if (hidden.has(nameOf(series))) return [];
          const own = colour(`c${series.tone % COLOURS}`);
          const symbol = shapeOf(series.tone);
          return [
            ...measured(series, own, symbol, !hidden.has(WHISKERS)),
            ...(hidden.has(PUBLISHED) ? [] : published(series, own)),
            ...(data.ratio_range ? [ratios(series, own, symbol)] : []),
          ];
        }),
        ...(data.ratio_range ? [unity(data)] : []),
      ],
    }),
  };
}

function nameOf(series: Series): string {
  return series.name === "" ? "measured" : series.name;
}

/** The shape of a series' points. */
export function shapeOf(tone: number): Shape {
  return SHAPES[tone % SHAPES.length] ?? "circle";
}

/** Whether a point has an interval that is seen. */
function isWide(point: Point): boolean {
  return point.low !== null && point.high !== null && point.low < point.high;
}

function grids(data: Plot): object[] {
  const side = { left: LEFT, right: RIGHT };
  if (!data.ratio_range) return [{ ...side, top: 34, bottom: BELOW }];
  return [
    { ...side, top: 34, bottom: BELOW + LOWER.panel + LOWER.gap },
    { ...side, height: LOWER.panel, bottom: BELOW },
  ];
}

/** The axis below each panel; the last one has the labels. */
function across(data: Plot, format: Format): object[] {
  const panels = data.ratio_range ? 2 : 1;
  return Array.from({ length: panels }, (_, gridIndex) => ({
    ...axis(gridIndex === panels - 1 ? (data.x === "rtt" ? "round trip without queues" : "random loss") : ""),
    gridIndex,
    nameLocation: "middle",
    nameGap: 30,
    type: "log",
    min: data.x_range[0],
    max: data.x_range[1],
    axisTick: { customValues: round(data.x_range) },
    axisLabel: {
      customValues: round(data.x_range),
      show: gridIndex === panels - 1,
      color: colour("ink"),
      hideOverlap: true,
      formatter: (value: number) => short(format(value)),
    },
  }));
}

/** What a logarithmic axis is labelled with, at least two values: powers of ten, with 2 and 5 times these where that is not too many; within a decade
 * equal steps. */
export function round([min, max]: [number, number]): number[] {
  const powers = Array.from({ length: Math.ceil(Math.log10(max / min)) + 2 }, (_, step) => 10 ** (Math.floor(Math.log10(min)) + step));
  const inside = (factors: number[]): number[] => powers.flatMap((power) => factors.map((factor) => factor * power)).filter((value) => value >= min && value <= max);
  for (const factors of [[1, 2, 5], [1, 3], [1]]) {
    const values = inside(factors);
    if (values.length >= FEWEST && values.length <= MOST) return values;
  }
  if (inside([1]).length > MOST) return inside([1]);
  const step = roundStep(max - min, MOST - 1);
  const first = Math.ceil(min / step);
  return Array.from({ length: Math.max(0, Math.floor(max / step) - first + 1) }, (_, number) => (first + number) * step);
}

function upward(name: string, gridIndex: number, [min, max]: [number, number], format: Format): object {
  return {
    ...axis(name),
    nameTextStyle: { color: colour("soft"), align: "left", padding: [0, 0, 0, 4 - LEFT] },
    gridIndex,
    type: "log",
    min,
    max,
    axisTick: { customValues: round([min, max]) },
    axisLabel: { customValues: round([min, max]), color: colour("ink"), hideOverlap: true, formatter: (value: number) => short(format(value)) },
  };
}

/** A line of one series goes with that. */
function isShown(data: Plot, line: Line, hidden: Set<string>): boolean {
  const of = line.series === null ? undefined : data.series[line.series];
  return !hidden.has(line.name) && !(of && hidden.has(nameOf(of)));
}

function lawSeries(data: Plot, line: Line, x: Format): object {
  const of = line.series === null ? undefined : data.series[line.series];
  const own = of === undefined ? colour("soft") : colour(`c${of.tone % COLOURS}`);
  const name = of ? `${line.name}, ${nameOf(of)}` : line.name;
  return {
    type: "line",
    data: line.points.map((point) => ({ value: point, text: [name, `${rate(point[1])} at ${x(point[0])}`] })),
    showSymbol: false,
    symbolSize: 6,
    triggerLineEvent: true,
    z: 1,
    lineStyle: { color: own, width: 1.3, type: DASHES[line.law] ?? "solid" },
    itemStyle: { color: own },
  };
}

/** Points with their intervals. */
function measured(series: Series, own: string, symbol: string, hasIntervals: boolean): object[] {
  return [
    {
      type: "line",
      data: series.points.map((point) => ({ value: [point.x, point.y], cell: point.cell, text: described(point) })),
      symbol,
      symbolSize: 9,
      z: 3,
      lineStyle: { color: own },
      itemStyle: { color: own },
    },
    {
      type: "custom",
      silent: true,
      data: hasIntervals ? series.points.filter(isWide).map((point) => [point.x, point.low, point.high]) : [],
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => whisker(api, own),
    },
  ];
}

function published(series: Series, own: string): object[] {
  if (series.published.length === 0) return [];
  const data = series.published.map((point) => ({ value: point, text: [`published: ${rate(point[1])}`, nameOf(series)] }));
  return [{ type: "scatter", data, symbol: "circle", symbolSize: 12, z: 4, itemStyle: { color: "transparent", borderColor: own, borderWidth: 1.8 } }];
}

function ratios(series: Series, own: string, symbol: string): object {
  return {
    type: "scatter",
    xAxisIndex: 1,
    yAxisIndex: 1,
    symbol,
    symbolSize: 9,
    itemStyle: { color: own },
    data: series.points.flatMap((point) =>
      point.bound === null || point.bound <= 0 ? [] : [{ value: [point.x, point.y / point.bound], cell: point.cell, text: described(point) }],
    ),
  };
}

/** Where measured is what theory allows. */
function unity(data: Plot): object {
  return {
    type: "line",
    xAxisIndex: 1,
    yAxisIndex: 1,
    silent: true,
    showSymbol: false,
    data: data.x_range.map((x) => [x, 1]),
    lineStyle: { color: colour("soft"), width: 1.3, type: "solid" },
  };
}

function described(point: Point): string[] {
  return [
    point.label,
    `goodput ${rate(point.y)}`,
    ...(point.low !== null && point.high !== null && point.coverage !== null
      ? [`interval ${rate(point.low)} to ${rate(point.high)}, covers ${(100 * point.coverage).toFixed(1)} %`]
      : []),
    ...(point.bound !== null ? [`${point.law ?? ""} allows ${rate(point.bound)}: measured / bound ${ratio(point.y / point.bound)}`] : []),
  ];
}

/** The interval of a point. */
function whisker(api: CustomSeriesRenderItemAPI, own: string): object {
  const [x, low] = api.coord([api.value(0), api.value(1)]);
  const [, high] = api.coord([api.value(0), api.value(2)]);
  return { type: "line", shape: { x1: x, y1: low, x2: x, y2: high }, style: { stroke: own, lineWidth: 2 } };
}
