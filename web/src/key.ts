// The keys of a legend: each is the mark that the chart draws.

/** A mark in a box of 24 by 12: what of it is stroked, filled, and filled faintly. */
export interface Mark {
  stroked?: string;
  filled?: string;
  faint?: string;
}

export type Shape = "circle" | "rect" | "triangle" | "diamond";

const SHAPE: Record<Shape, string> = {
  circle: "M8 6a4 4 0 1 0 8 0a4 4 0 1 0-8 0Z",
  rect: "M8.4 2.4h7.2v7.2h-7.2Z",
  triangle: "M12 1.2L16.6 9.6H7.4Z",
  diamond: "M12 .8L16.6 6L12 11.2L7.4 6Z",
};
const ACROSS = "M0 6h24";
const UPRIGHT = "M12 0v12";

export const LINE: Mark = { stroked: ACROSS };
export const AREA: Mark = { stroked: "M0 3h24", faint: "M0 3h24v9h-24Z" };
export const FIELD: Mark = { filled: "M4 1h16v10h-16Z" };
export const RING: Mark = { stroked: "M6.5 6a5.5 5.5 0 1 0 11 0a5.5 5.5 0 1 0-11 0Z" };
/** An interval: a line from its one end to the other. */
export const INTERVAL: Mark = { stroked: UPRIGHT };
/** The same with a stroke across its ends. */
export const ENDS: Mark = { stroked: `${UPRIGHT}M8 .8h8M8 11.2h8` };
export const BARS: Mark = { stroked: "M4 12v-5M12 9v-5M20 5v-5" };
export const TICKS: Mark = { stroked: "M4 3v6M12 3v6M20 3v6" };
export const CROSS: Mark = { stroked: "M8 2l8 8M16 2l-8 8" };
export const DOTS: Mark = { filled: "M3 7h3v3h-3ZM10.5 3h3v3h-3ZM18 6h3v3h-3Z" };
/** A line across the panel at a moment. */
export const MOMENT: Mark = { stroked: "M12 0v3M12 4.5v3M12 9v3" };

/** Points that a line joins. */
export function joined(shape: Shape): Mark {
  return { stroked: ACROSS, filled: SHAPE[shape] };
}

/** A bar with a shape at its middle. */
export function pointed(shape: Shape): Mark {
  return { stroked: UPRIGHT, filled: SHAPE[shape] };
}

/** `mark` in `colour`, dashed as `dashes`, classes of picture.css, have it. */
export function key(mark: Mark, colour: string, dashes: string): SVGSVGElement {
  const made = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  made.setAttribute("class", "key");
  made.setAttribute("viewBox", "0 0 24 12");
  made.setAttribute("aria-hidden", "true");
  made.style.color = colour;
  const parts = [["area", mark.faint], [`line ${dashes}`, mark.stroked], ["dot", mark.filled]] as const;
  for (const [classes, path] of parts) {
    if (path === undefined) continue;
    const part = document.createElementNS(made.namespaceURI, "path");
    part.setAttribute("class", classes);
    part.setAttribute("d", path);
    made.append(part);
  }
  return made;
}
