// Round trips of a cell as the share that did not exceed them.
import { axis, tooltip, type Drawing } from "./chart";
import { bubble } from "./dom";
import { short, time } from "./format";
import { textOf, type Choose } from "./item";
import { joined } from "./key";
import type { Trips } from "../build/model";
import { COLOURS, round } from "./plot";
import { colour } from "./theme";

type Trip = Trips["series"][number];

const IDLE = "idle RTT";

export function trips(data: Trips, choose: Choose): Drawing {
  const own = (trip: Trip): string => colour(`c${trip.tone % COLOURS}`);
  return {
    name: data.title,
    height: (width) => Math.max(260, Math.min(340, width * 0.6)),
    entries: () => [
      ...data.series.map((trip) => ({ name: trip.name, colour: own(trip), mark: joined("circle") })),
      ...(data.idle_ns === null ? [] : [{ name: IDLE, colour: colour("ink") }]),
    ],
    zooms: false,
    click: () => { choose(data.cell); },
    option: (hidden) => ({
      grid: { left: 60, right: 22, top: 34, bottom: 50 },
      tooltip: tooltip("item", (item) => bubble(textOf(item))),
      xAxis: {
        ...axis("round trip"),
        type: "log",
        min: data.x_range[0],
        max: data.x_range[1],
        nameLocation: "middle",
        nameGap: 30,
        axisTick: { customValues: round(data.x_range) },
        axisLabel: { customValues: round(data.x_range), color: colour("ink"), hideOverlap: true, formatter: (ns: number) => short(time(ns)) },
      },
      yAxis: {
        ...axis("took no longer"),
        nameTextStyle: { color: colour("soft"), align: "left", padding: [0, 0, 0, -56] },
        type: "value",
        min: 0,
        max: 100,
        axisLabel: { color: colour("ink"), formatter: (percent: number) => `${percent} %` },
      },
      series: [
        ...(data.idle_ns === null || hidden.has(IDLE) ? [] : [idle(data.idle_ns)]),
        ...data.series.filter((trip) => !hidden.has(trip.name)).map((trip) => line(trip, own(trip))),
      ],
    }),
  };
}

function idle(ns: number): object {
  return {
    type: "line",
    data: [0, 100].map((percent) => ({ value: [ns, percent], text: [`${IDLE} ${time(ns)}`] })),
    symbolSize: 5,
    lineStyle: { color: colour("ink"), width: 1.5 },
    itemStyle: { color: colour("ink") },
    z: 1,
  };
}

function line(trip: Trip, own: string): object {
  return {
    type: "line",
    symbol: "circle",
    symbolSize: 5,
    lineStyle: { color: own },
    itemStyle: { color: own },
    data: trip.points.map((point) => ({
      value: point,
      text: [trip.name, `${point[1]} % took no longer than ${time(point[0])}`],
    })),
  };
}
