// How the marks of a capture are drawn: bars for sequence numbers, stairs for what holds until the next value, shapes for single events.
import { graphic } from "echarts/core";
import type { Shows } from "../build/model";
import { AREA, BARS, CROSS, DOTS, LINE, MOMENT, RING, TICKS, pointed, type Mark as KeyMark } from "./key";
import type { Mark } from "./segments";
import { colour } from "./theme";

/** What a path understands: a canvas, and echarts' record of one. */
export type Pen = Pick<CanvasRenderingContext2D, "moveTo" | "lineTo" | "rect" | "closePath">;

/** Where values stand, and the frame's lower edge. */
export interface Place {
  x: (ns: number) => number;
  y: (value: number) => number;
  left: number;
  right: number;
  top: number;
  bottom: number;
}

type Form = "bars" | "circle" | "square" | "triangle" | "diamond" | "ring" | "cross" | "tick" | "word" | "stairs" | "area" | "dots";

export interface Look {
  name: string;
  panel: Panel;
  colour: string;
  form: Form;
  /** A limit of what else is shown: far above that it is cut off. */
  limit?: boolean;
  fine?: boolean;
}

export type Panel = "relative sequence numbers" | "windows" | "RTT" | "rate";

/** Every layer, as crates/report/src/svg/capture.rs draws it; a later one over an earlier one. */
export const LOOKS: [Shows, Look][] = [
  ["window_edge", { name: "ACK + window", panel: "relative sequence numbers", colour: "c3", form: "stairs", limit: true }],
  ["ack", { name: "ACK", panel: "relative sequence numbers", colour: "c2", form: "stairs" }],
  ["duplicate_ack", { name: "duplicate ACK", panel: "relative sequence numbers", colour: "c2", form: "tick" }],
  ["sack", { name: "SACK", panel: "relative sequence numbers", colour: "c6", form: "bars" }],
  ["data", { name: "data", panel: "relative sequence numbers", colour: "c0", form: "bars" }],
  ["out_of_order", { name: "out of order", panel: "relative sequence numbers", colour: "c4", form: "triangle" }],
  ["fast_retransmit", { name: "fast retransmit", panel: "relative sequence numbers", colour: "c1", form: "circle" }],
  ["rto_retransmit", { name: "RTO retransmit", panel: "relative sequence numbers", colour: "c7", form: "square" }],
  ["tlp_retransmit", { name: "TLP probe", panel: "relative sequence numbers", colour: "c5", form: "diamond" }],
  ["dsack", { name: "D-SACK", panel: "relative sequence numbers", colour: "c4", form: "bars" }],
  ["spurious", { name: "spurious retransmit", panel: "relative sequence numbers", colour: "ink", form: "ring" }],
  ["zero_window_probe", { name: "window probe", panel: "relative sequence numbers", colour: "c3", form: "triangle" }],
  ["zero_window", { name: "zero window", panel: "relative sequence numbers", colour: "bad", form: "cross" }],
  ["syn", { name: "SYN", panel: "relative sequence numbers", colour: "soft", form: "word" }],
  ["fin", { name: "FIN", panel: "relative sequence numbers", colour: "soft", form: "word" }],
  ["reset", { name: "RST", panel: "relative sequence numbers", colour: "soft", form: "word" }],
  ["outstanding", { name: "outstanding", panel: "windows", colour: "c0", form: "area" }],
  ["in_flight", { name: "in flight (without SACKed and lost)", panel: "windows", colour: "c1", form: "stairs" }],
  ["window", { name: "advertised window", panel: "windows", colour: "c3", form: "stairs", limit: true }],
  ["rtt_sample", { name: "RTT sample", panel: "RTT", colour: "c0", form: "dots" }],
  ["smoothed_rtt", { name: "smoothed RTT", panel: "RTT", colour: "c1", form: "stairs" }],
  ["goodput", { name: "acknowledged (goodput)", panel: "rate", colour: "c0", form: "area" }],
  ["throughput", { name: "sent, with retransmits", panel: "rate", colour: "c6", form: "stairs" }],
];

/** The key of each form in a legend. */
export const FORM_KEYS: Record<Form, KeyMark> = {
  bars: BARS,
  circle: pointed("circle"),
  square: pointed("rect"),
  triangle: pointed("triangle"),
  diamond: pointed("diamond"),
  ring: RING,
  cross: CROSS,
  tick: TICKS,
  word: MOMENT,
  stairs: LINE,
  area: AREA,
  dots: DOTS,
};

/** Pixels: half of a shape's width, and the least height of a bar. */
const HALF = 3.5;
const BAR = 1.5;
/** Words of one kind at most. */
const WORDS = 20;

type Paint = (pen: Pen) => void;

/** What each path of the drawing paints: echarts keeps numbers of a shape, and no functions. */
const PAINTS: Paint[] = [];

graphic.registerShape(
  "marks",
  graphic.extendShape({
    shape: { number: -1 },
    buildPath: (pen, shape) => { PAINTS[(shape as { number: number }).number]?.(pen); },
  }),
);

/** A path's shape. */
function painted(paint: Paint): object {
  return { number: PAINTS.push(paint) - 1 };
}

/** Before a drawing is made anew. */
export function forgetPaints(): void {
  PAINTS.length = 0;
}

/** The elements that draw `marks`, which are in the order of time. */
export function elements(look: Look, marks: Mark[], place: Place): object[] {
  const own = colour(look.colour);
  const line = (paint: (pen: Pen) => void, style: object = {}): object => ({
    type: "marks",
    shape: painted(paint),
    style: { stroke: own, fill: "none", lineWidth: 1.4, ...style },
    silent: true,
  });
  const solid = (paint: (pen: Pen) => void, opacity = 1): object => ({
    type: "marks",
    shape: painted(paint),
    style: { fill: own, opacity, stroke: "none" },
    silent: true,
  });
  const bars = (): object[] => [line((pen) => { thin(pen, marks, place); }), solid((pen) => { wide(pen, marks, place); }, 0.35)];
  switch (look.form) {
    case "bars": return bars();
    case "stairs": return [line((pen) => { stairs(pen, marks, place, look.panel === "rate"); })];
    case "area":
      return [
        solid((pen) => { stairs(pen, marks, place, look.panel === "rate", true); }, 0.2),
        line((pen) => { stairs(pen, marks, place, look.panel === "rate"); }),
      ];
    case "dots": return [solid((pen) => { dots(pen, marks, place); }), line((pen) => { thin(pen, marks.filter(isRange), place); }, { lineWidth: 0.8 })];
    case "tick": return [line((pen) => { shapes(pen, marks, place, tick); })];
    case "cross": return [line((pen) => { shapes(pen, marks, place, cross); }, { lineWidth: 2 })];
    case "ring": return [line((pen) => { shapes(pen, marks, place, (to, x, y) => { polygon(to, x, y, 8, 2 * HALF); }); })];
    case "word": return words(look.name, marks, place, own);
    default: {
      const corners = { circle: 8, square: 4, triangle: 3, diamond: 4 }[look.form];
      const turn = look.form === "square" ? Math.PI / 4 : 0;
      return [...bars(), solid((pen) => { shapes(pen, marks, place, (to, x, y) => { polygon(to, x, y, corners, HALF, turn); }); })];
    }
  }
}

function isRange(mark: Mark): boolean {
  return mark.low < mark.high;
}

/** Left, right, top and bottom of a mark. */
function box(mark: Mark, place: Place): [number, number, number, number] {
  const [left, right] = [place.x(mark.from), place.x(mark.to)];
  const [middle, half] = [(place.y(mark.low) + place.y(mark.high)) / 2, Math.max(BAR, place.y(mark.low) - place.y(mark.high)) / 2];
  return [left, right, middle - half, middle + half];
}

/** Those that are no wider than a pixel, each pixel once. */
function thin(pen: Pen, marks: Mark[], place: Place): void {
  let last: [number, number, number] = [NaN, 0, 0];
  for (const mark of marks) {
    const [left, right, top, bottom] = box(mark, place);
    if (right - left > 1) continue;
    const x = Math.round(left + right) / 2;
    if (x === last[0] && top >= last[1] && bottom <= last[2]) continue;
    last = x === last[0] && top <= last[2] && bottom >= last[1] ? [x, Math.min(top, last[1]), Math.max(bottom, last[2])] : [x, top, bottom];
    pen.moveTo(x, bottom);
    pen.lineTo(x, top);
  }
}

/** The others, which stand for several at different times. */
function wide(pen: Pen, marks: Mark[], place: Place): void {
  for (const mark of marks) {
    const [left, right, top, bottom] = box(mark, place);
    if (right - left > 1) pen.rect(left, top, right - left, bottom - top);
  }
}

/** From each value to the next; rates end, other values hold to the frame's edge. Nothing is drawn left of the frame. */
function stairs(pen: Pen, marks: Mark[], place: Place, ends: boolean, isFilled = false): void {
  const first = marks[0];
  if (!first) return;
  const clamp = (x: number): number => Math.min(Math.max(x, place.left - 2), place.right + 2);
  let x = clamp(place.x(first.from));
  const begin = x;
  let y = place.y(first.high);
  pen.moveTo(x, y);
  for (const mark of marks) {
    const [to, low, high] = [clamp(place.x(mark.from)), place.y(mark.low), place.y(mark.high)];
    if (to - x < 0.3 && Math.abs(high - y) < 0.3 && Math.abs(low - y) < 0.3) continue;
    pen.lineTo(to, y);
    if (Math.abs(low - high) > 0.3 && !isFilled) pen.lineTo(to, low);
    pen.lineTo(to, high);
    [x, y] = [to, high];
  }
  const last = marks.at(-1);
  const end = ends && last ? clamp(place.x(last.to)) : place.right;
  pen.lineTo(end, y);
  if (isFilled) {
    pen.lineTo(end, place.bottom);
    pen.lineTo(begin, place.bottom);
    pen.closePath();
  }
}

function dots(pen: Pen, marks: Mark[], place: Place): void {
  for (const mark of marks) {
    if (isRange(mark)) continue;
    pen.rect(place.x(mark.from) - 1, place.y(mark.low) - 1, 2, 2);
  }
}

/** A shape at the middle of each mark; of those that would cover one another one. */
function shapes(pen: Pen, marks: Mark[], place: Place, shape: (pen: Pen, x: number, y: number) => void): void {
  let last = "";
  for (const mark of marks) {
    const [left, right, top, bottom] = box(mark, place);
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const at = `${Math.round(x)} ${Math.round(y)}`;
    if (at !== last) shape(pen, x, y);
    last = at;
  }
}

function polygon(pen: Pen, x: number, y: number, corners: number, radius: number, turn = 0): void {
  for (let corner = 0; corner < corners; corner += 1) {
    const angle = turn - Math.PI / 2 + (2 * Math.PI * corner) / corners;
    const at: [number, number] = [x + radius * Math.cos(angle), y + radius * Math.sin(angle)];
    if (corner === 0) pen.moveTo(...at);
    else pen.lineTo(...at);
  }
  pen.closePath();
}

function cross(pen: Pen, x: number, y: number): void {
  pen.moveTo(x - HALF, y - HALF);
  pen.lineTo(x + HALF, y + HALF);
  pen.moveTo(x - HALF, y + HALF);
  pen.lineTo(x + HALF, y - HALF);
}

function tick(pen: Pen, x: number, y: number): void {
  pen.moveTo(x, y);
  pen.lineTo(x, y + 5);
}

/** Lines across the panel, with the word beside the first ones. */
function words(word: string, marks: Mark[], place: Place, own: string): object[] {
  const seen = marks.map((mark) => place.x(mark.from)).filter((x) => x >= place.left && x <= place.right).slice(0, WORDS);
  const across = (pen: Pen): void => {
    for (const x of seen) {
      pen.moveTo(x, place.top);
      pen.lineTo(x, place.bottom);
    }
  };
  const y = { SYN: place.top + 12, FIN: place.bottom - 8 }[word] ?? place.bottom - 22;
  const texts = seen.slice(0, 1).map((x) => {
    const isRight = x > (place.left + place.right) / 2;
    return {
      type: "text",
      style: { x: isRight ? x - 4 : x + 4, y, text: word, fill: own, align: isRight ? "right" : "left", verticalAlign: "middle", fontSize: 12 },
      silent: true,
    };
  });
  return [{ type: "marks", shape: painted(across), style: { stroke: own, fill: "none", lineWidth: 1, lineDash: [4, 3] }, silent: true }, ...texts];
}
