// Light or dark: the choice, and the style's colours for what is drawn on a canvas.
import { byId } from "./dom";

type Listener = () => void;
const listeners: Listener[] = [];
const ROOT = document.documentElement;
const SYSTEM = matchMedia("(prefers-color-scheme: dark)");

/** A colour of page.css by its name. */
export function colour(name: string): string {
  return getComputedStyle(ROOT).getPropertyValue(`--${name}`).trim();
}

/** Calls `listener` whenever the colours change. */
export function onTheme(listener: Listener): void {
  listeners.push(listener);
}

/** Makes the choice work. Nothing is stored: a page from a file has nowhere to. */
export function startTheme(): void {
  const choice = byId("theme") as HTMLSelectElement;
  const tell = (): void => {
    for (const listener of listeners) listener();
  };
  choice.addEventListener("change", () => {
    if (choice.value === "auto") ROOT.removeAttribute("data-theme");
    else ROOT.setAttribute("data-theme", choice.value);
    tell();
  });
  SYSTEM.addEventListener("change", tell);
}
