// Charts with a row for each cell: how far repetitions lie apart, and where datagrams were lost.
import type { CustomSeriesRenderItemAPI, CustomSeriesRenderItemParams } from "echarts";
import { axis, tooltip, type Drawing } from "./chart";
import { bubble } from "./dom";
import { percent, rate, short } from "./format";
import { isOf, textOf, type Choose } from "./item";
import { FIELD } from "./key";
import type { Losses, Repeats } from "../build/model";
import { colour } from "./theme";

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
        ...axis(data.rows.some((row) => row.quartiles) ? "from the cell's median; the box is the middle half" : "from the cell's median"),
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
          type: "custom",
          silent: true,
          data: data.rows.flatMap((row, place) =>
            row.quartiles ? [[farOff(row.quartiles[0], row.median), place, farOff(row.quartiles[1], row.median)]] : [],
          ),
          renderItem: (_: CustomSeriesRenderItemParams, api: CustomSeriesRenderItemAPI) => box(api, colour("c0")),
        },
        {
          type: "scatter",
          symbolSize: 10,
          itemStyle: { color: colour("c0"), opacity: 0.75 },
          data: data.rows.flatMap((row, place) =>
            row.bps.map((bps, number) => ({
              value: [farOff(bps, row.median), place],
              cell: row.cell,
              text: [
                row.label,
                `${rate(bps)}, number ${number + 1} of ${row.bps.length} by size`,
                `median ${rate(row.median)}`,
                ...(row.quartiles ? [`middle half ${rate(row.quartiles[0])} to ${rate(row.quartiles[1])}`] : []),
              ],
            })),
          ),
        },
      ],
    }),
  };
}

/** The middle half of a cell's runs, with a stroke at the median. */
function box(api: CustomSeriesRenderItemAPI, own: string): object {
  const [left = 0, y = 0] = api.coord([api.value(0), api.value(1)]);
  const [right = 0] = api.coord([api.value(2), api.value(1)]);
  const [middle = 0] = api.coord([0, api.value(1)]);
  const style = { stroke: own, lineWidth: 1.5 };
  return {
    type: "group",
    children: [
      { type: "rect", shape: { x: left, y: y - 8, width: right - left, height: 16 }, style: { ...style, fill: own, fillOpacity: 0.25 } },
      { type: "line", shape: { x1: middle, y1: y - 8, x2: middle, y2: y + 8 }, style },
    ],
  };
}

export function losses(data: Losses, choose: Choose): Drawing {
  const tone = (place: number): string =>
    place === 0 ? colour("state-open") : colour(["c0", "c1", "c3", "c4", "c5", "c7"][(place - 1) % 6] ?? "c0");
  return {
    name: data.title,
    height: () => 90 + 34 * data.bars.length,
    entries: () => {
      const all = data.places.map((name, place) => ({ name, colour: tone(place), mark: FIELD }));
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
