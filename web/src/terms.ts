// A term's explanation beside it, on hover and on focus; Escape hides it.
import { byId, element } from "./dom";

/** Takes the place of the browser's own tooltips, which no keyboard reaches. */
export function startTerms(): void {
  const tip = element("div", { id: "tip", role: "tooltip", hidden: "" });
  document.body.append(tip);
  let shown: HTMLAnchorElement | null = null;
  const hide = (): void => {
    shown?.removeAttribute("aria-describedby");
    shown = null;
    tip.hidden = true;
  };
  const show = (term: HTMLAnchorElement): void => {
    hide();
    term.removeAttribute("title");
    const explained = byId(term.hash.slice(1)).querySelector("dd");
    tip.textContent = explained?.textContent ?? "";
    tip.hidden = false;
    const place = term.getBoundingClientRect();
    const room = document.documentElement.clientWidth - tip.offsetWidth - 8;
    tip.style.left = `${Math.max(8, Math.min(place.left, room)) + scrollX}px`;
    tip.style.top = `${place.bottom + 6 + scrollY}px`;
    term.setAttribute("aria-describedby", "tip");
    shown = term;
  };
  const termOf = (event: Event): HTMLAnchorElement | null =>
    event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a.term") : null;
  for (const kind of ["mouseover", "focusin"]) {
    document.addEventListener(kind, (event) => {
      const term = termOf(event);
      if (term) show(term);
    });
  }
  document.addEventListener("focusout", (event) => {
    if (shown && termOf(event) === shown) hide();
  });
  document.addEventListener("mouseout", (event) => {
    if (shown && termOf(event) === shown && document.activeElement !== shown) hide();
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") hide();
  });
}
