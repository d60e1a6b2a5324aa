// A map of goodput over two axes; of more axes somebody chooses which two, and where the others stand.
import { axis, tooltip, type Drawing } from "./chart";
import { bubble, element } from "./dom";
import { rate } from "./format";
import { isOf, textOf, type Choose } from "./item";
import type { Heat } from "../build/model";
import { colour } from "./theme";

/** The steps of viridis, as crates/report/src/svg/heat.rs has them. */
const VIRIDIS = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];

/** Which axes are across and down, and at which value each axis stands where it is neither. */
interface View {
  x: number;
  y: number;
  at: number[];
}

export function heat(data: Heat, choose: Choose): Drawing {
  const known = data.fields.flatMap((field) => (field.bps !== null && field.bps > 0 ? [Math.log10(field.bps)] : []));
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const view: View = { x: 0, y: 1, at: data.axes.map(() => 0) };
  const rows = (): number => data.axes[view.y]?.values.length ?? 0;
  return {
    name: data.title,
    height: () => 110 + rows() * (rows() > 12 ? 16 : 34),
    entries: () => [],
    zooms: false,
    ...(data.axes.length > 2 ? { choices: (redraw: () => void) => choices(data, view, redraw) } : {}),
    click: (item) => { if (isOf(item)) choose(item.cell); },
    option: (_, width) => {
      const [x, y] = [data.axes[view.x], data.axes[view.y]];
      const room = (width - 130) / (x?.values.length ?? 1);
      return {
        grid: { left: 104, right: 14, top: 28, bottom: 78 },
        tooltip: tooltip("item", (item) => bubble(textOf(item))),
        xAxis: { ...axis(x?.name ?? ""), type: "category", data: x?.values, nameLocation: "middle", nameGap: 28, splitLine: { show: false } },
        yAxis: {
          ...axis(y?.name ?? ""),
          type: "category",
          inverse: true,
          nameLocation: "start",
          data: y?.values,
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
            data: shown(data, view).map(({ cell, at, bps }) => ({
              value: [at[view.x], at[view.y], bps === 0 ? low : Math.log10(bps)],
              cell,
              text: [...data.axes.map((one, number) => `${one.name} ${one.values[at[number] ?? 0] ?? ""}`), `goodput ${rate(bps)}`],
              label: { color: bps > 0 && Math.log10(bps) > low + 0.55 * (high - low) ? "#000" : "#fff" },
            })),
            label: {
              show: room >= 58 && rows() <= 12,
              formatter: (item: { value: number[] }) => rate(10 ** (item.value[2] ?? 0)).replace("bit/s", ""),
            },
          },
        ],
      };
    },
  };
}

/** The measured fields that are on the map. */
function shown(data: Heat, view: View): { cell: string; at: number[]; bps: number }[] {
  const stands = (at: number[]): boolean => at.every((place, number) => number === view.x || number === view.y || place === view.at[number]);
  return data.fields.flatMap(({ cell, at, bps }) => (bps !== null && stands(at) ? [{ cell, at, bps }] : []));
}

/** Which axis goes across, which down, and a choice for each of the others. */
function choices(data: Heat, view: View, redraw: () => void): HTMLElement[] {
  const names = data.axes.map((axis) => axis.name);
  const others = element("span", { class: "controls" });
  const fill = (): void => {
    others.replaceChildren(
      ...data.axes.flatMap((axis, number) =>
        number === view.x || number === view.y
          ? []
          : [choice(axis.name, axis.values, () => view.at[number] ?? 0, (place) => { view.at[number] = place; redraw(); })],
      ),
    );
  };
  const turn = (side: "x" | "y") => (place: number): void => {
    const other = side === "x" ? "y" : "x";
    if (view[other] === place) view[other] = view[side];
    view[side] = place;
    fill();
    across.value = String(view.x);
    down.value = String(view.y);
    redraw();
  };
  const [acrossLabel, downLabel] = [choice("across", names, () => view.x, turn("x")), choice("down", names, () => view.y, turn("y"))];
  const [across, down] = [selectIn(acrossLabel), selectIn(downLabel)];
  fill();
  return [acrossLabel, downLabel, others];
}

function choice(name: string, values: string[], at: () => number, chosen: (place: number) => void): HTMLElement {
  const select = element("select", { "aria-label": name }, ...values.map((value, place) => element("option", { value: String(place) }, value)));
  select.value = String(at());
  select.addEventListener("change", () => { chosen(Number(select.value)); });
  return element("label", {}, element("bdi", {}, name), select);
}

function selectIn(label: HTMLElement): HTMLSelectElement {
  const select = label.querySelector("select");
  if (!select) throw new Error("a choice has a select");
  return select;
}
