// The graphs of a capture's connections: panels below one another on one axis of time, from the whole down to single segments.
import { Chart, axis, type Entry } from "./chart";
import { bubble, button, byId, element } from "./dom";
import { bytes, percent, position, positionBy, rate, short, time, wholeStep } from "./format";
import type { CaptureHead, Shows } from "../build/model";
import { below, levelFor, marksOf, partsIn, rates, shareOfEvery, unpack, type Flow, type Mark, type Span } from "./segments";
import { FORM_KEYS, LOOKS, elements, forgetPaints, type Look, type Panel, type Place } from "./strokes";
import { colour } from "./theme";

/** Panels from above: height in pixels, and the unit of their values. */
const PANELS: [Panel, number, (value: number) => string][] = [
  ["relative sequence numbers", 300, position],
  ["windows", 150, bytes],
  ["RTT", 110, time],
  ["rate", 110, rate],
];
const ROOM = { top: 30, gap: 48, below: 34, band: 8 };
/** Room left of the panels, and right of them. */
const SIDES = { wide: 104, narrow: 92, right: 18 };
/** The shortest view: marks of one instant cannot be drawn apart. */
const SHORTEST = 1000;
/** Of what would be above this many times the rest a limit is cut off. */
const ABOVE = 1.25;
/** Parts that an axis of positions is cut into at most. */
const STEPS_OF_POSITIONS = 6;
/** Rates of a view; a rate is no mean of a shorter time than an RTT, unless so many RTTs or fewer are in view. */
const STEPS = 150;
const FEW_RTTS = 20;
/** A view of an event is so many RTTs long; without an RTT one of so many parts of the whole. */
const EVENT_RTTS = 4;
const EVENT_PARTS = 200;
/** Rows of the table of marks. */
const ROWS = 200;
/** Pixels: marks as near to the pointer are told; less than the second is no drag. */
const NEAR = 8;
const DRAG = 5;
const EVENTS: Shows[] = ["fast_retransmit", "rto_retransmit", "tlp_retransmit", "spurious", "zero_window", "zero_window_probe"];
const SUMMED: Shows[] = ["data", ...EVENTS, "sack", "duplicate_ack", "out_of_order"];
/** What the table lists: single events, no values that hold. */
const LISTED = new Set<Shows>([...SUMMED, "dsack", "ack", "syn", "fin", "reset", "rtt_sample"]);
const KEYS = "Keys: + and − zoom, arrows move, Home shows all, N and P go to the next and the previous event";

/** A panel where it stands. */
interface Drawn {
  panel: Panel;
  format: (value: number) => string;
  place: Place;
  range: [number, number];
  /** Beside the panel's name: a limit that is above what it shows. */
  above: string;
  marks: Map<Shows, Mark[]>;
}

/** The choice of a connection and its graphs. */
export class CaptureView {
  readonly #heads: CaptureHead[];
  readonly #lines: string[];
  readonly #place = byId("capture-chart");
  readonly #choice = element("select", { id: "connection" });
  readonly #note = element("p", { class: "hint", id: "capture-note" });
  readonly #summary = element("p", { id: "capture-summary", "aria-live": "polite" });
  readonly #command = element("p", { id: "capture-command" });
  readonly #table = element("details", { id: "capture-table" });
  readonly #tip = element("div", { class: "float", hidden: "" });
  readonly #selection = element("div", { class: "selection", hidden: "" });
  #head: CaptureHead;
  #flow: Flow | null = null;
  #chart: Chart | null = null;
  #view: Span = [0, 1];
  #panels: Drawn[] = [];
  #asked = 0;
  #drag: { x: number; view: Span; moves: boolean } | null = null;

  constructor(heads: CaptureHead[], lines: string[]) {
    const [first] = heads;
    if (!first) throw new Error("the page has no connection");
    [this.#heads, this.#lines, this.#head] = [heads, lines, first];
    this.#choice.append(...heads.map((head, number) => element("option", { value: String(number) }, head.label)));
    this.#choice.addEventListener("change", () => { void this.#show(Number(this.#choice.value)); });
    const step = (by: number): void => { void this.#show((Number(this.#choice.value) + by + heads.length) % heads.length); };
    const choice = [element("label", { for: "connection" }, "Connection"), this.#choice, button("‹", "The connection before", () => { step(-1); }), button("›", "The next connection", () => { step(1); })];
    const tools = byId("capture-tools");
    tools.append(element("div", { class: "controls" }, ...(heads.length > 1 ? choice : [])), this.#note);
    const figures = byId("capture-figures");
    this.#table.append(element("summary", {}, "The marks in view as a table"));
    this.#table.addEventListener("toggle", () => { this.#fillTable(); });
    figures.append(this.#summary, this.#command, this.#table);
    for (const part of [tools, this.#place, figures]) part.hidden = false;
    this.#listen();
    void this.#show(0);
  }

  async #show(number: number): Promise<void> {
    const [head, line] = [this.#heads[number], this.#lines[number]];
    if (!head || line === undefined) throw new Error(`the page has no connection ${number}`);
    this.#place.removeAttribute("data-loaded");
    const flow = await unpack(line, head.range_ns);
    [this.#head, this.#flow] = [head, flow];
    this.#choice.value = String(number);
    this.#note.textContent = [`${head.from} → ${head.to}.`, ...head.notes, head.detail].join(" ");
    this.#view = this.#whole();
    if (this.#chart) this.#chart.restart();
    else this.#start();
    this.#tell();
    this.#place.dataset["loaded"] = String(number);
  }

  #start(): void {
    this.#chart = new Chart(this.#place, {
      name: "Connection over time",
      height: () => this.#heightTo(PANELS.length),
      entries: () => this.#entries(),
      option: (hidden, width) => this.#option(hidden, width),
      zooms: false,
      choices: () => this.#buttons(),
    });
    // Not into the chart's own element, which is emptied when it is drawn first.
    this.#place.append(this.#selection, this.#tip);
  }

  #box(): HTMLElement {
    const box = this.#place.querySelector<HTMLElement>(".chart");
    if (!box) throw new Error("the graphs have no chart");
    return box;
  }

  #buttons(): HTMLElement[] {
    const zoom = element(
      "span",
      { class: "zoom" },
      button("+", "Zoom in", () => { this.#zoom(0.5); }),
      button("−", "Zoom out", () => { this.#zoom(2); }),
      button("◂", "Earlier", () => { this.#move(-0.5); }),
      button("▸", "Later", () => { this.#move(0.5); }),
      button("all", "Show all", () => { this.#set(this.#whole()); }),
    );
    const events = element(
      "span",
      { class: "zoom" },
      button("‹ event", "‹ event: the previous retransmission or zero window", () => { this.#goTo(-1); }),
      button("event ›", "event ›: the next retransmission or zero window", () => { this.#goTo(1); }),
    );
    return [zoom, events, element("span", { class: "hint" }, "Drag or Ctrl and wheel: zoom. Shift and drag: move. Keys: + − arrows, N and P for events, Home.")];
  }

  #entries(): Entry[] {
    const flow = this.#flow;
    if (!flow) return [];
    const isThere = (shows: Shows): boolean =>
      shows === "goodput" || shows === "throughput" || flow.rare.has(shows) || flow.single.has(shows) || (flow.levels[0]?.layers.has(shows) ?? false);
    return LOOKS.filter(([shows]) => isThere(shows)).map(([, look]) => ({
      name: look.name,
      panel: look.panel,
      colour: colour(look.colour),
      mark: FORM_KEYS[look.form],
    }));
  }

  #whole(): Span {
    const [from, to] = this.#head.range_ns;
    // A little room, so that the first and the last mark are not on the edge.
    const room = Math.max(SHORTEST, (to - from) * 0.005);
    return [from - room, to + room];
  }

  // Views

  #set([from, to]: Span): void {
    const [least, most] = this.#whole();
    const length = Math.min(Math.max(to - from, SHORTEST), most - least);
    const middle = (from + to) / 2;
    const begin = Math.min(Math.max(middle - length / 2, least), most - length);
    this.#view = [begin, begin + length];
    this.#redraw();
  }

  #redraw(): void {
    if (this.#asked !== 0) return;
    this.#asked = requestAnimationFrame(() => {
      this.#asked = 0;
      this.#chart?.draw();
      this.#tell();
    });
  }

  /** Around `at`, or around the middle. */
  #zoom(factor: number, at?: number): void {
    const [from, to] = this.#view;
    const still = at ?? (from + to) / 2;
    const length = Math.max((to - from) * factor, SHORTEST);
    const begin = still - ((still - from) / (to - from)) * length;
    this.#set([begin, begin + length]);
  }

  #move(share: number): void {
    const [from, to] = this.#view;
    const by = (to - from) * share;
    this.#set([from + by, to + by]);
  }

  /** Goes to the next event, or to the one before, seen from the middle of the view. */
  #goTo(direction: 1 | -1): void {
    const [from, to] = this.#view;
    const middle = (from + to) / 2;
    const times = EVENTS.flatMap((shows) => [...(this.#flow?.rare.get(shows)?.from ?? [])]);
    const length = this.#ofEvent();
    const isWhole = to - from > 2 * length;
    const here = isWhole ? (direction > 0 ? -Infinity : Infinity) : middle;
    const next = times.reduce<number | null>((best, at) => {
      const isThere = direction > 0 ? at > here + 1 : at < here - 1;
      return isThere && (best === null || (direction > 0 ? at < best : at > best)) ? at : best;
    }, null);
    if (next === null) return;
    const half = (isWhole ? length : to - from) / 2;
    this.#set([next - half, next + half]);
  }

  #ofEvent(): number {
    const [from, to] = this.#head.range_ns;
    return this.#head.rtt_ns === null ? (to - from) / EVENT_PARTS : this.#head.rtt_ns * EVENT_RTTS;
  }

  // Drawing

  #heightTo(panels: number): number {
    const above = PANELS.slice(0, panels).reduce((sum, [, height]) => sum + height + ROOM.gap, ROOM.top);
    return panels === PANELS.length ? above - ROOM.gap + ROOM.below + 2 * ROOM.band : above;
  }

  #option(hidden: Set<string>, width: number): Record<string, unknown> {
    forgetPaints();
    const left = leftOf(width);
    const right = width - SIDES.right;
    this.#panels = PANELS.map(([panel, height, format], number) => this.#measure(panel, format, { left, right, top: this.#heightTo(number), height }, hidden));
    const ticks = Math.max(2, Math.floor((right - left) / 120));
    const times = this.#panels.map((_, gridIndex) => ({
      ...axis(""),
      type: "value",
      gridIndex,
      min: this.#view[0],
      max: this.#view[1],
      splitNumber: ticks,
      axisLabel: { color: colour("ink"), hideOverlap: true, showMinLabel: false, showMaxLabel: false, formatter: (ns: number) => this.#clock(ns, ticks) },
      axisPointer: { show: true, label: { show: false }, lineStyle: { color: colour("soft") } },
    }));
    const values = this.#panels.map(({ panel, above, format, range: [min, max] }, gridIndex) => ({
      ...axis(panel + above),
      ...stepsOf(format, max - min),
      nameTextStyle: { color: colour("soft"), align: "left", padding: [0, 0, 0, 6 - left] },
      type: "value",
      gridIndex,
      min,
      max,
      axisLabel: { color: colour("ink"), hideOverlap: true, showMinLabel: min === 0, showMaxLabel: false, formatter: labelled(format, max - min) },
    }));
    return {
      grid: this.#panels.map(({ place }) => ({ left: place.left, width: place.right - place.left, top: place.top, height: place.bottom - place.top })),
      xAxis: times,
      yAxis: values,
      axisPointer: { link: [{ xAxisIndex: "all" }], triggerTooltip: false },
      tooltip: { show: true, trigger: "axis", showContent: false, axisPointer: { type: "line" } },
      series: this.#panels.map((drawn, number) => ({
        type: "custom",
        xAxisIndex: number,
        yAxisIndex: number,
        silent: true,
        clip: true,
        data: [[this.#view[0], drawn.range[0]]],
        renderItem: () => ({ type: "group", children: shown(drawn) }),
      })).concat([this.#band() as never]),
    };
  }

  /** Below the panels: where every segment is on the page. */
  #band(): object {
    const place = this.#panels[this.#panels.length - 1]?.place;
    const spans = this.#flow?.every ?? [];
    return {
      type: "custom",
      xAxisIndex: this.#panels.length - 1,
      yAxisIndex: this.#panels.length - 1,
      silent: true,
      data: [[this.#view[0], 0]],
      renderItem: () => {
        if (!place) return null;
        const top = place.bottom + ROOM.below - 6;
        const rect = (from: number, to: number, name: string): object => ({
          type: "rect",
          shape: { x: from, y: top, width: Math.max(1, to - from), height: ROOM.band },
          style: { fill: colour(name) },
          silent: true,
        });
        const seen = spans.filter(([from, to]) => to > this.#view[0] && from < this.#view[1]);
        const clamp = (x: number): number => Math.min(Math.max(x, place.left), place.right);
        const every = seen.slice(0, 2000).map(([from, to]) => rect(clamp(place.x(from)), clamp(place.x(to)), "c2"));
        return { type: "group", children: [rect(place.left, place.right, "rule"), ...every] };
      },
    };
  }

  /** A panel: its marks, its range, and where values stand. */
  #measure(panel: Panel, format: Drawn["format"], frame: { left: number; right: number; top: number; height: number }, hidden: Set<string>): Drawn {
    const [from, to] = this.#view;
    const pixels = frame.right - frame.left;
    const marks = new Map<Shows, Mark[]>();
    for (const [shows, look] of LOOKS) {
      if (look.panel === panel && !hidden.has(look.name)) marks.set(shows, this.#marks(shows, pixels));
    }
    const isPart = to - from < (this.#whole()[1] - this.#whole()[0]) * 0.98;
    const range = rangeOf(marks, this.#view, panel === "relative sequence numbers" && isPart);
    const bottom = frame.top + frame.height;
    const place: Place = {
      left: frame.left,
      right: frame.right,
      top: frame.top,
      bottom,
      x: (ns) => frame.left + ((ns - from) / (to - from)) * pixels,
      y: (value) => Math.min(Math.max(bottom - ((value - range[0]) / (range[1] - range[0])) * frame.height, frame.top - 20), bottom + 20),
    };
    const above = [...marks].flatMap(([shows, all]) => {
      const most = all.reduce((best, mark) => (mark.to >= from || mark === all[0] ? Math.max(best, mark.high) : best), 0);
      return lookOf(shows)?.limit && most > range[1] ? [` (${lookOf(shows)?.name ?? ""} is higher: up to ${format(most)})`] : [];
    });
    return { panel, above: above.join(""), format, place, range, marks };
  }

  #marks(shows: Shows, pixels: number): Mark[] {
    const flow = this.#flow;
    if (!flow) return [];
    if (shows !== "throughput" && shows !== "goodput") return marksOf(partsIn(flow, shows, this.#view, pixels));
    const rtt = this.#head.rtt_ns ?? 0;
    const isLong = this.#view[1] - this.#view[0] > FEW_RTTS * rtt;
    return rates(flow, shows, this.#view, this.#head.range_ns[1], STEPS, isLong ? rtt : 0);
  }

  /** A time with as many digits as the view needs. */
  #clock(ns: number, ticks: number): string {
    const step = (this.#view[1] - this.#view[0]) / ticks / 1e9;
    const digits = Math.min(9, Math.max(0, Math.ceil(-Math.log10(step)) + 1));
    return `${(ns / 1e9).toFixed(digits)} s`;
  }

  // Figures

  /** The view in words, and the command that has every segment of it. */
  #tell(): void {
    const flow = this.#flow;
    if (!flow) return;
    const [from, to] = this.#shown();
    const counts = SUMMED.flatMap((shows) => {
      const count = this.#inView(shows).reduce((sum, mark) => sum + mark.count, 0);
      const look = lookOf(shows);
      return count > 0 && look ? [`${look.name} ${count}`] : [];
    });
    const most = (shows: Shows): number | null => this.#inView(shows).reduce<number | null>((best, mark) => Math.max(best ?? 0, mark.high), null);
    const rtts = this.#inView("rtt_sample");
    const outstanding = most("outstanding");
    const told = [
      `In view: ${seconds(from, "down")} s to ${seconds(to, "up")} s: ${counts.join(", ") || "no segment"}.`,
      ...(outstanding === null ? [] : [`At most ${bytes(outstanding)} outstanding.`]),
      ...(rtts.length > 0 ? [`RTT ${time(Math.min(...rtts.map((mark) => mark.low)))} to ${time(Math.max(...rtts.map((mark) => mark.high)))}.`] : []),
      this.#detailInView(flow, [from, to]),
    ];
    this.#summary.textContent = told.join(" ");
    const name = `${this.#head.stem}-${seconds(from, "down")}s-${seconds(to, "up")}s.html`;
    const command = `${this.#head.command} --from ${seconds(from, "down")}s --to ${seconds(to, "up")}s --page ${name}`;
    this.#command.replaceChildren("Every segment of this view: ", element("code", { class: "command" }, command));
    this.#place.dataset["view"] = `${from} ${to}`;
    if (this.#table.open) this.#fillTable();
  }

  /** The view without what is beyond the connection. */
  #shown(): Span {
    const [from, to] = this.#head.range_ns;
    return [Math.max(this.#view[0], from), Math.min(this.#view[1], to + 1)];
  }

  #detailInView(flow: Flow, view: Span): string {
    const { level, isFinest } = levelFor(flow, this.#view, this.#pixels());
    const share = shareOfEvery(flow, view);
    const cell = time(level?.cell ?? 0);
    if (!isFinest) return `What came within ${cell} is one mark.`;
    if (share >= 1) return "Every segment is drawn.";
    if (share === 0) return `What came within ${cell} is one mark: the segments of this part are not on this page.`;
    return `Every segment is drawn in ${percent(100 * share)} of this time (the bar below the graphs); elsewhere what came within ${cell} is one mark.`;
  }

  #pixels(): number {
    const width = this.#box().clientWidth;
    return width - leftOf(width) - SIDES.right;
  }

  #inView(shows: Shows): Mark[] {
    const [from, to] = this.#view;
    return this.#marks(shows, this.#pixels()).filter((mark) => mark.to >= from && mark.from <= to);
  }

  #fillTable(): void {
    if (!this.#table.open) return;
    const all = LOOKS.filter(([shows]) => LISTED.has(shows)).flatMap(([shows]) => this.#inView(shows));
    const listed = nearest(all, (this.#view[0] + this.#view[1]) / 2);
    const row = (mark: Mark): HTMLElement => {
      const look = lookOf(mark.shows);
      const isSequence = look?.panel === "relative sequence numbers";
      const several = mark.count > 1 ? ` (${mark.count} in ${time(mark.to - mark.from)})` : "";
      const format = isSequence ? String : time;
      const values = mark.low === mark.high ? format(mark.low) : `${format(mark.low)} – ${format(mark.high)}`;
      const cells = [seconds(mark.from, "down"), `${look?.name ?? mark.shows}${several}`, values, isSequence && mark.high > mark.low ? String(mark.high - mark.low) : ""];
      return element("tr", {}, ...cells.map((text, column) => element("td", column === 1 ? {} : { class: "number" }, text)));
    };
    const heads = ["time (s)", "what", "relative sequence numbers, or value", "bytes"].map((text) => element("th", { scope: "col" }, text));
    const body = element("tbody", {}, ...listed.map(row));
    const left = all.length - listed.length;
    this.#table.replaceChildren(
      element("summary", {}, "The marks in view as a table"),
      element("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Marks in view" }, element("table", {}, element("thead", {}, element("tr", {}, ...heads)), body)),
      ...(left > 0 ? [element("p", { class: "hint" }, `${left} more marks are in view; listed are retransmissions and zero windows, then what is next to the middle.`)] : []),
    );
  }

  // Input

  #listen(): void {
    this.#place.tabIndex = 0;
    this.#place.setAttribute("role", "group");
    this.#place.setAttribute("aria-label", `Graphs of the connection. ${KEYS}.`);
    this.#place.addEventListener("keydown", (event) => { this.#key(event); });
    this.#place.addEventListener("wheel", (event) => {
      const at = this.#timeAt(event);
      if (at === null || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      this.#zoom(2 ** (Math.sign(event.deltaY) * 0.5), at);
    }, { passive: false });
    this.#place.addEventListener("pointerdown", (event) => {
      if (event.button !== 0 || this.#timeAt(event) === null) return;
      this.#drag = { x: this.#x(event), view: this.#view, moves: event.shiftKey };
    });
    addEventListener("pointermove", (event) => { this.#pointer(event); });
    addEventListener("pointerup", (event) => { this.#drop(event); });
    addEventListener("pointercancel", () => { this.#forget(); });
    this.#place.addEventListener("pointerleave", () => { this.#tip.hidden = true; });
    this.#place.addEventListener("dblclick", (event) => {
      const at = this.#timeAt(event);
      if (at !== null) this.#zoom(0.25, at);
    });
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.metaKey || event.altKey || (event.target instanceof Element && event.target.closest("select"))) return;
    const acts: Record<string, () => void> = {
      "+": () => { this.#zoom(0.5); },
      "=": () => { this.#zoom(0.5); },
      "-": () => { this.#zoom(2); },
      ArrowLeft: () => { this.#move(-0.25); },
      ArrowRight: () => { this.#move(0.25); },
      Home: () => { this.#set(this.#whole()); },
      "0": () => { this.#set(this.#whole()); },
      n: () => { this.#goTo(1); },
      p: () => { this.#goTo(-1); },
      Escape: () => { this.#forget(); },
    };
    const act = acts[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act) return;
    event.preventDefault();
    act();
  }

  #x(event: MouseEvent): number {
    return event.clientX - this.#box().getBoundingClientRect().left;
  }

  /** The time under the pointer; null beside the panels. */
  #timeAt(event: MouseEvent): number | null {
    const place = this.#panels[0]?.place;
    const box = this.#box().getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    if (!place || x < place.left || x > place.right || y < 0 || y > box.height) return null;
    return this.#view[0] + ((x - place.left) / (place.right - place.left)) * (this.#view[1] - this.#view[0]);
  }

  #pointer(event: PointerEvent): void {
    const drag = this.#drag;
    const place = this.#panels[0]?.place;
    if (!place) return;
    if (!drag) {
      this.#point(event);
      return;
    }
    const x = Math.min(Math.max(this.#x(event), place.left), place.right);
    this.#tip.hidden = true;
    if (drag.moves) {
      const by = ((drag.x - x) / (place.right - place.left)) * (drag.view[1] - drag.view[0]);
      this.#set([drag.view[0] + by, drag.view[1] + by]);
      return;
    }
    this.#selection.hidden = Math.abs(x - drag.x) < DRAG;
    const box = this.#box();
    this.#selection.style.top = `${box.offsetTop}px`;
    this.#selection.style.height = `${box.offsetHeight}px`;
    this.#selection.style.left = `${Math.min(x, drag.x)}px`;
    this.#selection.style.width = `${Math.abs(x - drag.x)}px`;
  }

  #drop(event: PointerEvent): void {
    const drag = this.#drag;
    const place = this.#panels[0]?.place;
    this.#forget();
    if (!drag || drag.moves || !place) return;
    const x = Math.min(Math.max(this.#x(event), place.left), place.right);
    if (Math.abs(x - drag.x) < DRAG) return;
    const at = (pixel: number): number => drag.view[0] + ((pixel - place.left) / (place.right - place.left)) * (drag.view[1] - drag.view[0]);
    this.#set([at(Math.min(x, drag.x)), at(Math.max(x, drag.x))]);
  }

  #forget(): void {
    this.#drag = null;
    this.#selection.hidden = true;
    this.#tip.hidden = true;
  }

  /** Says what is under the pointer. */
  #point(event: PointerEvent): void {
    const at = event.target instanceof Node && this.#place.contains(event.target) ? this.#timeAt(event) : null;
    const box = this.#box().getBoundingClientRect();
    const y = event.clientY - box.top;
    const drawn = this.#panels.find(({ place }) => y >= place.top && y <= place.bottom);
    this.#tip.hidden = at === null || !drawn;
    if (at === null || !drawn) return;
    this.#tip.replaceChildren(bubble([`at ${seconds(at, "down")} s`, ...this.#linesAt(drawn, at, this.#x(event), y)]));
    const left = this.#x(event) + 14;
    this.#tip.style.left = `${left + this.#tip.offsetWidth > box.width ? Math.max(0, left - this.#tip.offsetWidth - 28) : left}px`;
    this.#tip.style.top = `${this.#box().offsetTop + Math.min(y + 12, Math.max(0, box.height - this.#tip.offsetHeight))}px`;
  }

  #linesAt({ place, marks, format }: Drawn, at: number, x: number, y: number): string[] {
    return [...marks].flatMap(([shows, all]) => {
      const look = lookOf(shows);
      if (!look || all.length === 0) return [];
      if (look.form === "stairs" || look.form === "area") {
        const mark = all[below(Float64Array.from(all, (one) => one.from), at + 1) - 1];
        return mark ? [`${look.name}: ${values(mark, format)}`] : [];
      }
      const distance = (mark: Mark): number => {
        const [left, right] = [place.x(mark.from), place.x(mark.to)];
        const [top, bottom] = [place.y(mark.high), place.y(mark.low)];
        return Math.max(left - x, x - right, 0) + Math.max(top - y, y - bottom, 0);
      };
      const best = all.reduce<[Mark, number] | null>((found, mark) => {
        const far = distance(mark);
        return far <= NEAR && (found === null || far < found[1]) ? [mark, far] : found;
      }, null);
      return best ? [`${look.name}: ${values(best[0], format)}${best[0].count > 1 ? `, ${best[0].count} of them` : ""}`] : [];
    });
  }
}

/** How an axis is cut: bytes into whole ones. */
function stepsOf(format: Drawn["format"], range: number): { interval: number } | { splitNumber: number } {
  if (format === position) return { interval: wholeStep(range, STEPS_OF_POSITIONS) };
  return format === bytes ? { interval: wholeStep(range, 5) } : { splitNumber: 3 };
}

/** Labels of an axis that shows so much: positions with the digits that its steps need. */
function labelled(format: Drawn["format"], range: number): (value: number) => string {
  if (format !== position) return (value) => short(format(value));
  const step = wholeStep(range, STEPS_OF_POSITIONS);
  return (value) => positionBy(value, step);
}

/** Room left of the panels of a chart of that width. */
function leftOf(width: number): number {
  return width < 600 ? SIDES.narrow : SIDES.wide;
}

/** As many as a table has, in the order of time: events, then what is next to `middle`. */
function nearest(all: Mark[], middle: number): Mark[] {
  const isEvent = (mark: Mark): number => (EVENTS.includes(mark.shows) ? 0 : 1);
  const wanted = all.length <= ROWS ? all : [...all].sort((one, other) => isEvent(one) - isEvent(other) || Math.abs(one.from - middle) - Math.abs(other.from - middle)).slice(0, ROWS);
  return wanted.sort((one, other) => one.from - other.from);
}

function shown({ marks, place }: Drawn): object[] {
  return LOOKS.flatMap(([shows, look]) => {
    const all = marks.get(shows);
    return all && all.length > 0 ? elements(look, all, place) : [];
  });
}

function lookOf(shows: Shows): Look | undefined {
  return LOOKS.find(([one]) => one === shows)?.[1];
}

function values(mark: Mark, format: (value: number) => string): string {
  return mark.low === mark.high ? format(mark.low) : `${format(mark.low)} to ${format(mark.high)}`;
}

/** Seconds without a digit that says nothing, rounded to nanoseconds. */
function seconds(ns: number, direction: "up" | "down"): string {
  const whole = Math.max(0, direction === "up" ? Math.ceil(ns) : Math.floor(ns));
  const text = `${Math.floor(whole / 1e9)}.${String(whole % 1e9).padStart(9, "0")}`;
  return text.replace(/\.?0+$/u, "");
}

/** The least and the largest value that a panel shows: from 0 on, unless it shows a part. A limit far above is cut off. */
function rangeOf(marks: Map<Shows, Mark[]>, [from, to]: Span, isPart: boolean): [number, number] {
  let [low, high, limit] = [Infinity, -Infinity, -Infinity];
  for (const [shows, all] of marks) {
    const isLimit = lookOf(shows)?.limit ?? false;
    const holds = ["stairs", "area"].includes(lookOf(shows)?.form ?? "");
    all.forEach((mark, place) => {
      const end = holds ? (all[place + 1]?.from ?? to) : mark.to;
      if (mark.from > to || end < from) return;
      if (isLimit) limit = Math.max(limit, mark.high);
      else [low, high] = [Math.min(low, mark.low), Math.max(high, mark.high)];
    });
  }
  if (high === -Infinity) return [0, Math.max(1, limit) * 1.05];
  const least = isPart ? low : 0;
  const cut = least + (high - least) * ABOVE;
  const most = Math.max(high, Math.min(limit, cut), least + 1);
  const room = (most - least) * 0.05;
  return [isPart ? Math.max(0, least - room) : 0, most + room];
}
