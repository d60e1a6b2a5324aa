// Light or dark: the choice, and the style's colours for what is drawn on a canvas.
import { byId, element } from "./dom";

type Listener = () => void;
const listeners: Listener[] = [];
const ROOT = document.documentElement;
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");

/** What resolves a colour, light or dark, to one that a canvas understands; no part of what is seen. */
const PROBE = element("span", { hidden: "" });
document.body.append(PROBE);
/** Colours that were resolved since they changed. */
const KNOWN = new Map<string, string>();

/** A colour of colours.css by its name, as `rgb(…)`. */
export function colour(name: string): string {
  const known = KNOWN.get(name);
  if (known !== undefined) return known;
  PROBE.style.color = `var(--${name})`;
  const resolved = getComputedStyle(PROBE).color;
  KNOWN.set(name, resolved);
  return resolved;
}

/** Calls `listener` whenever the colours change. */
export function onTheme(listener: Listener): void {
  listeners.push(listener);
}

/** Makes the choice work. Nothing is stored: a page from a file has nowhere to. */
export function startTheme(): void {
  const choice = byId("theme") as HTMLSelectElement;
  const tell = (): void => {
    KNOWN.clear();
    for (const listener of listeners) listener();
  };
  choice.addEventListener("change", () => {
    if (choice.value === "auto") ROOT.removeAttribute("data-theme");
    else ROOT.setAttribute("data-theme", choice.value);
    tell();
  });
  SYSTEM.addEventListener("change", tell);
}
