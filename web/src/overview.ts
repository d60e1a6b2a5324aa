// The charts of the whole experiment: goodput against a quantity, over two axes, repetitions, losses by place.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { axis, tooltip, type Drawing } from "./chart";
import { bubble } from "./dom";
import { percent, rate, ratio, short, time } from "./format";
import type { Heat, Losses, Plot, PlotPoint, Repeats } from "./model";
import { colour } from "./theme";

/** As many series as there are colours are shown until somebody asks for more. */
const COLOURS = 8;
/** Dashes of the laws, as page.css has them. */
const DASHES: (number[] | "solid")[] = ["solid", [8, 4], [3, 3], [10, 3, 2, 3], [1, 3], [12, 4, 4, 4, 4, 4]];
/** The steps of viridis, as crates/report/src/html/svg/heat.rs has them. */
const VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
/** What a click on a cell does. */
export type Choose = (cell: string) => void;

const SERIES_NAME = (name: string): string => (name === "" ? "measured" : name);

export function plot(data: Plot, choose: Choose): Drawing {
  const x = data.x === "rtt" ? time : percent;
  const name = data.x === "rtt" ? "round trip without queues" : "random loss";
  const describe = (point: PlotPoint): string[] => [
    point.label,
    `goodput ${rate(point.y)}`,
    ...(point.low !== null && point.high !== null ? [`95 % interval ${rate(point.low)} to ${rate(point.high)}`] : []),
    ...(point.bound !== null ? [`${point.law ?? ""} allows ${rate(point.bound)}: measured / bound ${ratio(point.y / point.bound)}`] : []),
  ];
  return {
    name: data.title,
    height: (width) => Math.max(300, Math.min(460, width * 0.7)),
    entries: () => [
      ...data.series.map((series, number) => ({
        name: SERIES_NAME(series.name),
        colour: colour(`c${number % COLOURS}`),
        off: number >= COLOURS,
      })),
      ...(data.series.some((series) => series.published.length > 0) ? [{ name: "published", colour: colour("soft") }] : []),
      ...data.lines.map((line) => ({ name: line.name, colour: colour("soft") })),
    ],
    zooms: true,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (hidden) => ({
      grid: { left: 78, right: 22, top: 34, bottom: 50 },
      tooltip: tooltip("item", (item) => bubble(textOf(item))),
      dataZoom: [{ type: "inside", xAxisIndex: 0, filterMode: "none", zoomOnMouseWheel: "ctrl" }],
      xAxis: {
        ...axis(name),
        nameLocation: "middle",
        nameGap: 30,
        type: "log",
        min: data.x_range[0],
        max: data.x_range[1],
        axisLabel: { color: colour("ink"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => short(x(value)) },
      },
      yAxis: {
        ...axis("goodput"),
        type: "log",
        min: data.y_range[0],
        max: data.y_range[1],
        axisLabel: { color: colour("ink"), showMinLabel: false, showMaxLabel: false, formatter: (value: number) => short(rate(value)) },
      },
      series: [
        ...data.lines
          .filter((line) => !hidden.has(line.name))
          .map((line) => ({
            type: "line",
            data: line.points.map((point) => ({ value: point, text: [line.name, `${rate(point[1])} at ${x(point[0])}`] })),
            showSymbol: false,
            symbolSize: 6,
            triggerLineEvent: true,
            z: 1,
            lineStyle: { color: colour("soft"), width: 1.3, type: DASHES[line.law] ?? "solid" },
            itemStyle: { color: colour("soft") },
          })),
        ...data.series.flatMap((series, number) => {
          if (hidden.has(SERIES_NAME(series.name))) return [];
          const own = colour(`c${number % COLOURS}`);
          const shown = [
            {
              type: "line",
              data: series.points.map((point) => ({ value: [point.x, point.y], cell: point.cell, text: describe(point) })),
              symbol: ["circle", "rect", "triangle", "diamond"][number % 4],
              symbolSize: 9,
              z: 3,
              lineStyle: { color: own },
              itemStyle: { color: own },
            },
            {
              type: "custom",
              silent: true,
              data: series.points.flatMap((point) => (point.low !== null && point.high !== null ? [[point.x, point.low, point.high]] : [])),
              renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => whisker(api, own),
            },
          ];
          const published = series.published.map((point) => ({ value: point, text: [`published: ${rate(point[1])}`, SERIES_NAME(series.name)] }));
          const ring = { type: "scatter", data: published, symbol: "circle", symbolSize: 12, z: 4, itemStyle: { color: "transparent", borderColor: own, borderWidth: 1.8 } };
          return published.length > 0 && !hidden.has("published") ? [...shown, ring] : shown;
        }),
      ],
    }),
  };
}

/** The interval of a point. */
function whisker(api: CustomSeriesRenderItemAPI, own: string): object {
  const [x, low] = api.coord([api.value(0), api.value(1)]);
  const [, high] = api.coord([api.value(0), api.value(2)]);
  return { type: "line", shape: { x1: x, y1: low, x2: x, y2: high }, style: { stroke: own, lineWidth: 2 } };
}

export function heat(data: Heat, choose: Choose): Drawing {
  const known = data.fields.flatMap((field) => (field.bps !== null && field.bps > 0 ? [Math.log10(field.bps)] : []));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const rows = data.y.values.length;
  return {
    name: data.title,
    height: () => 110 + rows * (rows > 12 ? 16 : 34),
    entries: () => [],
    zooms: false,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (_, width) => {
      const room = (width - 130) / data.x.values.length;
      return {
        grid: { left: 104, right: 14, top: 28, bottom: 78 },
        tooltip: tooltip("item", (item) => bubble(textOf(item))),
        xAxis: { ...axis(data.x.name), type: "category", data: data.x.values, nameLocation: "middle", nameGap: 28, splitLine: { show: false } },
        yAxis: {
          ...axis(data.y.name),
          type: "category",
          inverse: true,
          nameLocation: "start",
          data: data.y.values,
          splitLine: { show: false },
          axisLabel: { color: colour("ink"), width: 92, overflow: "truncate" },
        },
        visualMap: {
          type: "continuous",
          min: low === high ? low - 1 : low,
          max: high,
          orient: "horizontal",
          left: "center",
          bottom: 0,
          itemHeight: Math.min(220, width / 2),
          itemWidth: 12,
          precision: 3,
          inRange: { color: VIRIDIS },
          text: [rate(10 ** high), rate(10 ** low)],
          textStyle: { color: colour("ink") },
          formatter: (value: number) => rate(10 ** value),
        },
        series: [
          {
            type: "heatmap",
            data: data.fields
              .filter((field) => field.bps !== null)
              .map((field) => ({
                value: [field.x, field.y, field.bps === null || field.bps === 0 ? low : Math.log10(field.bps)],
                cell: field.cell,
                text: [`${data.x.name} ${data.x.values[field.x] ?? ""}`, `${data.y.name} ${data.y.values[field.y] ?? ""}`, `goodput ${rate(field.bps ?? 0)}`],
                label: { color: Number(field.bps) > 0 && Math.log10(Number(field.bps)) > low + 0.55 * (high - low) ? "#000" : "#fff" },
              })),
            label: {
              show: room >= 58 && rows <= 12,
              formatter: (item: { value: number[] }) => rate(10 ** (item.value[2] ?? 0)).replace("bit/s", ""),
            },
          },
        ],
      };
    },
  };
}

export function repeats(data: Repeats, choose: Choose): Drawing {
  const farOff = (bps: number, median: number): number => 100 * (bps / median - 1);
  const far = Math.max(0.5, ...data.rows.flatMap((row) => row.bps.map((bps) => Math.abs(farOff(bps, row.median))))) * 1.1;
  return {
    name: data.title,
    height: () => 80 + 30 * data.rows.length,
    entries: () => [],
    zooms: false,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (_, width) => ({
      grid: { left: Math.min(220, width * 0.4), right: 26, top: 10, bottom: 50 },
      tooltip: tooltip("item", (item) => bubble(textOf(item))),
      xAxis: {
        ...axis("from the cell's median"),
        type: "value",
        min: -far,
        max: far,
        nameLocation: "middle",
        nameGap: 30,
        axisLabel: { color: colour("ink"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (value: number) => short(percent(value)) },
      },
      yAxis: {
        ...axis(""),
        type: "category",
        inverse: true,
        data: data.rows.map((row) => row.label),
        axisLabel: { color: colour("ink"), width: Math.min(205, width * 0.4 - 12), overflow: "truncate" },
      },
      series: [
        {
          type: "scatter",
          symbolSize: 10,
          itemStyle: { color: colour("c0"), opacity: 0.75 },
          data: data.rows.flatMap((row, place) =>
            row.bps.map((bps, number) => ({
              value: [farOff(bps, row.median), place],
              cell: row.cell,
              text: [row.label, `${rate(bps)}, number ${number + 1} of ${row.bps.length} by size`, `median ${rate(row.median)}`],
            })),
          ),
        },
      ],
    }),
  };
}

export function losses(data: Losses, choose: Choose): Drawing {
  const tone = (place: number): string =>
    place === 0 ? colour("state-open") : colour(["c0", "c1", "c3", "c4", "c5", "c7"][(place - 1) % 6] ?? "c0");
  return {
    name: data.title,
    height: () => 90 + 34 * data.bars.length,
    entries: () => {
      const all = data.places.map((name, place) => ({ name, colour: tone(place) }));
      return all.filter((_, place) => data.bars.some((bar) => (bar.counts[place] ?? 0) > 0));
    },
    zooms: false,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (hidden, width) => ({
      grid: { left: Math.min(220, width * 0.4), right: 26, top: 10, bottom: 50 },
      tooltip: tooltip("item", (item) => bubble(textOf(item))),
      xAxis: {
        ...axis("of the datagrams sent"),
        type: "value",
        min: 0,
        max: 100,
        nameLocation: "middle",
        nameGap: 30,
        axisLabel: { color: colour("ink"), hideOverlap: true, formatter: (value: number) => `${value} %` },
      },
      yAxis: {
        ...axis(""),
        type: "category",
        inverse: true,
        data: data.bars.map((bar) => bar.label),
        axisLabel: { color: colour("ink"), width: Math.min(205, width * 0.4 - 12), overflow: "truncate" },
      },
      series: data.places.flatMap((name, place) =>
        hidden.has(name)
          ? []
          : [
              {
                type: "bar",
                stack: "all",
                barMaxWidth: 22,
                itemStyle: { color: tone(place), borderColor: colour("soft"), borderWidth: 0.5 },
                data: data.bars.map((bar) => ({
                  value: (100 * (bar.counts[place] ?? 0)) / bar.sent,
                  cell: bar.cell,
                  text: [bar.label, `${name}: ${bar.counts[place] ?? "not measured"} of ${bar.sent}`],
                })),
              },
            ],
      ),
    }),
  };
}

/** Lines of the item under the pointer. */
function textOf(item: unknown): string[] {
  const data = (item as { data?: { text?: string[] } }).data;
  return data?.text ?? [];
}

function isOf(item: unknown): item is { cell: string } {
  return typeof item === "object" && item !== null && typeof (item as { cell?: unknown }).cell === "string";
}

