// Goodput or round trip along an axis whose values stand side by side.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { axis, tooltip, type Drawing } from "./chart";
import { bubble } from "./dom";
import { rate, short, time } from "./format";
import { isOf, textOf, type Choose } from "./item";
import { ENDS, joined } from "./key";
import type { Along } from "../build/model";
import { COLOURS, round, shapeOf } from "./plot";
import { colour } from "./theme";

type Steps = Along["series"][number];

const PATH_RATE = "path rate";
/** What the line through a point spans, as crates/report/src/charts/along.rs calls it. */
const SPANS = { goodput: "interval of the median", rtt: "from idle to the 99th percentile, a tick at the 95th" };

export function along(data: Along, choose: Choose): Drawing {
  const isRtt = data.upward === "rtt";
  const format = isRtt ? time : rate;
  const name = isRtt ? "round trip under load" : "goodput";
  const own = (series: Steps): string => colour(`c${series.tone % COLOURS}`);
  return {
    name: data.title,
    height: (width) => Math.max(260, Math.min(360, width * 0.6)),
    entries: () => [
      ...data.series.map((series) => ({ name: nameOf(series), colour: own(series), mark: joined(shapeOf(series.tone)), off: series.tone >= COLOURS })),
      ...(data.series.some((series) => series.points.some(isWide)) ? [{ name: SPANS[data.upward], colour: colour("soft"), mark: ENDS }] : []),
      ...(data.path_bps === null ? [] : [{ name: PATH_RATE, colour: colour("ink") }]),
    ],
    zooms: false,
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (hidden) => {
      const shown = data.series.filter((series) => !hidden.has(nameOf(series)));
      const [min, max] = data.y_range;
      return {
        grid: { left: 92, right: 22, top: 34, bottom: 50 },
        tooltip: tooltip("item", (item) => bubble(textOf(item))),
        xAxis: {
          ...axis(data.axis),
          type: "category",
          data: data.values,
          nameLocation: "middle",
          nameGap: 30,
          splitLine: { show: false },
        },
        yAxis: {
          ...axis(name),
          nameTextStyle: { color: colour("soft"), align: "left", padding: [0, 0, 0, -88] },
          min,
          max,
          ...(isRtt
            ? {
                type: "log",
                axisTick: { customValues: round(data.y_range) },
                axisLabel: { customValues: round(data.y_range), color: colour("ink"), formatter: (value: number) => short(format(value)) },
              }
            : { type: "value", axisLabel: { color: colour("ink"), showMaxLabel: false, formatter: (value: number) => short(format(value)) } }),
        },
        series: [
          ...(data.path_bps === null || hidden.has(PATH_RATE) ? [] : [pathRate(data.path_bps, data.values.length)]),
          ...shown.flatMap((series, place) => steps(data, series, own(series), 5 * (place - (shown.length - 1) / 2), !hidden.has(SPANS[data.upward]))),
        ],
      };
    },
  };
}

function nameOf(series: Steps): string {
  return series.name === "" ? "median" : series.name;
}

/** Whether the line through a point is seen. */
function isWide(point: Steps["points"][number]): boolean {
  return point.low !== null && point.high !== null && point.low < point.high;
}

function pathRate(bps: number, values: number): object {
  return {
    type: "line",
    data: Array.from({ length: values }, (_, at) => ({ value: [at, bps], text: [`${PATH_RATE} ${rate(bps)}`] })),
    showSymbol: false,
    lineStyle: { color: colour("ink"), width: 1.5 },
    itemStyle: { color: colour("ink") },
    z: 1,
  };
}

/** Points with what is below and above them; those of several series stand beside each other. */
function steps(data: Along, series: Steps, own: string, aside: number, hasSpans: boolean): object[] {
  const format = data.upward === "rtt" ? time : rate;
  const ends = data.upward === "rtt" ? ["idle", "99th percentile"] : ["interval of the median from", "to"];
  return [
    {
      type: "line",
      symbol: shapeOf(series.tone),
      symbolSize: 9,
      symbolOffset: [aside, 0],
      z: 3,
      lineStyle: { color: own },
      itemStyle: { color: own },
      data: series.points.map((point) => ({
        value: [point.at, point.y],
        cell: point.cell,
        text: [
          point.label,
          `median ${format(point.y)}`,
          ...(point.low === null ? [] : [`${ends[0] ?? ""} ${format(point.low)}`]),
          ...(point.p95 === null ? [] : [`95th percentile ${format(point.p95)}`]),
          ...(point.high === null ? [] : [`${ends[1] ?? ""} ${format(point.high)}`]),
        ],
      })),
    },
    {
      type: "custom",
      silent: true,
      data: hasSpans ? series.points.filter(isWide).map((point) => [point.at, point.low, point.high, point.p95 ?? point.high]) : [],
      renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => {
        const [middle = 0, low = 0] = api.coord([api.value(0), api.value(1)]);
        const [, high = 0] = api.coord([api.value(0), api.value(2)]);
        const x = middle + aside;
        const style = { stroke: own, lineWidth: 1.5 };
        const [, p95 = 0] = api.coord([api.value(0), api.value(3)]);
        const across = (y: number): object => ({ type: "line", shape: { x1: x - 4, y1: y, x2: x + 4, y2: y }, style });
        return { type: "group", children: [{ type: "line", shape: { x1: x, y1: low, x2: x, y2: high }, style }, across(low), across(p95)] };
      },
    },
  ];
}
