// One chart on a canvas: made when it comes into view, drawn anew when colours, width or the choice of series change.
//
// Tooltips are elements made of text, never markup: the page's policy refuses styles in markup, and names are anybody's.
import { BarChart, CustomChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AxisPointerComponent,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from "echarts/components";
import { init, use, type ECharts, type EChartsCoreOption } from "echarts/core";
import { CanvasRenderer } from "echarts/renderers";
import { button, element } from "./dom";
import { LINE, key, type Mark } from "./key";
import { colour, onTheme } from "./theme";

use([
  AxisPointerComponent,
  BarChart,
  CanvasRenderer,
  CustomChart,
  DataZoomInsideComponent,
  DataZoomSliderComponent,
  GridComponent,
  HeatmapChart,
  LineChart,
  ScatterChart,
  TooltipComponent,
  VisualMapContinuousComponent,
]);

/** An entry of a legend: what can be shown or not. */
export interface Entry {
  name: string;
  colour: string;
  /** How it is drawn; a line where nothing is said. */
  mark?: Mark;
  /** Classes of picture.css that dash its line. */
  dashes?: string;
  /** The panel that it belongs to, where a chart has several. */
  panel?: string;
  /** Not shown until somebody asks. */
  off?: boolean;
}

/** The page's own: a canvas knows no "inherit", and draws ten pixels of another font for it. */
const FONT = getComputedStyle(document.body).fontFamily;
/** Width of a chart that was not laid out yet: to ask for it would lay out the whole page. */
const GUESS = 520;

/** What a chart is drawn from. */
export interface Drawing {
  name: string;
  height: (width: number) => number;
  entries: () => Entry[];
  option: (hidden: Set<string>, width: number) => EChartsCoreOption;
  zooms: boolean;
  /** Made once, above the chart; what they choose is drawn by `redraw`. */
  choices?: (redraw: () => void) => HTMLElement[];
  click?: (data: unknown) => void;
}

/** A chart with its controls, in `place`. */
export class Chart {
  readonly #drawing: Drawing;
  readonly #box = element("div", { class: "chart", role: "img" });
  readonly #controls = element("div", { class: "controls" });
  readonly #hidden = new Set<string>();
  /** What the reader has switched himself: it stays as he wants it. */
  readonly #switched = new Set<string>();
  #chart: ECharts | null = null;

  constructor(place: HTMLElement, drawing: Drawing) {
    this.#drawing = drawing;
    this.#box.setAttribute("aria-label", `${drawing.name}. The tables of this page have its figures.`);
    const choices = drawing.choices?.(() => { this.draw(); }) ?? [];
    if (choices.length > 0) place.append(element("div", { class: "controls choices" }, ...choices));
    place.append(this.#controls, this.#box);
    this.#fillControls();
    this.#box.style.height = `${drawing.height(GUESS)}px`;
    new IntersectionObserver((seen, observer) => {
      if (!seen.some((one) => one.isIntersecting)) return;
      observer.disconnect();
      this.#start();
    }, { rootMargin: "300px" }).observe(this.#box);
    onTheme(() => {
      this.#fillControls();
      this.draw();
    });
  }

  /** Draws what is there now. */
  draw(): void {
    if (!this.#chart) return;
    const width = this.#width();
    this.#box.style.height = `${this.#drawing.height(width)}px`;
    this.#chart.resize();
    this.#chart.setOption(
      { animation: false, textStyle: { fontFamily: FONT, fontSize: 12 }, ...this.#drawing.option(this.#hidden, width) },
      { notMerge: true },
    );
    this.#box.dataset["drawn"] = String(Number(this.#box.dataset["drawn"] ?? "0") + 1);
  }

  /** As after another run was chosen: entries and zoom begin anew. */
  restart(): void {
    this.#fillControls();
    this.draw();
  }

  #start(): void {
    this.#chart = init(this.#box, null, { renderer: "canvas" });
    this.#chart.on("click", (event) => this.#drawing.click?.(event.data));
    this.draw();
    let width = this.#width();
    new ResizeObserver(() => {
      if (this.#width() === width) return;
      width = this.#width();
      this.draw();
    }).observe(this.#box);
  }

  #width(): number {
    return this.#box.clientWidth || GUESS;
  }

  #fillControls(): void {
    const entries = this.#drawing.entries();
    const panels = [...new Set(entries.map((entry) => entry.panel))];
    const sets = panels.map((panel) => {
      const boxes = entries.filter((entry) => entry.panel === panel).map((entry) => this.#toggle(entry));
      const title = panel === undefined ? element("legend", {}, `Shown in ${this.#drawing.name}`) : element("legend", { class: "panel" }, panel);
      return element("fieldset", {}, title, ...boxes);
    });
    this.#controls.replaceChildren(...(entries.length > 1 ? sets : []), ...(this.#drawing.zooms ? [element("span", { class: "zoom" }, ...this.#zoomButtons())] : []));
  }

  #toggle(entry: Entry): HTMLElement {
    const box = element("input", { type: "checkbox" });
    if (entry.off && !this.#switched.has(entry.name)) this.#hidden.add(entry.name);
    else if (!this.#switched.has(entry.name)) this.#hidden.delete(entry.name);
    box.checked = !this.#hidden.has(entry.name);
    box.addEventListener("change", () => {
      this.#switched.add(entry.name);
      if (box.checked) this.#hidden.delete(entry.name);
      else this.#hidden.add(entry.name);
      this.draw();
    });
    return element("label", {}, box, key(entry.mark ?? LINE, entry.colour, entry.dashes ?? ""), element("bdi", {}, entry.name));
  }

  #zoomButtons(): HTMLElement[] {
    return [
      button("+", `Zoom in: ${this.#drawing.name}`, () => { this.#zoom(0.5); }),
      button("−", `Zoom out: ${this.#drawing.name}`, () => { this.#zoom(2); }),
      button("◂", `Earlier: ${this.#drawing.name}`, () => { this.#move(-0.5); }),
      button("▸", `Later: ${this.#drawing.name}`, () => { this.#move(0.5); }),
      button("all", `all: ${this.#drawing.name}`, () => { this.#show(0, 100); }),
    ];
  }

  #part(): [number, number] {
    const option = this.#chart?.getOption() as { dataZoom?: { start?: number; end?: number }[] } | undefined;
    const zoom = option?.dataZoom?.[0];
    return [zoom?.start ?? 0, zoom?.end ?? 100];
  }

  #zoom(factor: number): void {
    const [start, end] = this.#part();
    const middle = (start + end) / 2;
    const half = Math.min(50, ((end - start) / 2) * factor);
    this.#show(middle - half, middle + half);
  }

  #move(share: number): void {
    const [start, end] = this.#part();
    const by = (end - start) * share;
    const within = Math.min(Math.max(by, -start), 100 - end);
    this.#show(start + within, end + within);
  }

  #show(start: number, end: number): void {
    const part = { start: Math.max(0, start), end: Math.min(100, end) };
    this.#chart?.dispatchAction({ type: "dataZoom", ...part });
    this.#box.dataset["part"] = `${part.start}-${part.end}`;
  }
}

/** The style of an axis. */
export function axis(name: string): Record<string, unknown> {
  return {
    name,
    nameTextStyle: { color: colour("soft") },
    axisLine: { show: true, lineStyle: { color: colour("soft") } },
    axisLabel: { color: colour("ink"), hideOverlap: true },
    splitLine: { lineStyle: { color: colour("rule") } },
    minorTick: { show: false },
  };
}

/** The style of a tooltip whose lines `formatter` makes. */
export function tooltip(trigger: "item" | "axis", formatter: (params: unknown) => HTMLElement): Record<string, unknown> {
  return {
    trigger,
    confine: true,
    transitionDuration: 0,
    backgroundColor: colour("paper"),
    borderColor: colour("soft"),
    textStyle: { color: colour("ink") },
    formatter,
  };
}
