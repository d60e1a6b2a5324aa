// Parts of a large page that are text until they are needed: the browser reads them in pauses, when somebody comes near, or goes there by a link.
// What is read is the page's own markup, as every browser without a script reads it at once.

/** Milliseconds of a pause that are left to the browser. */
const SPARE = 5;

/** Begins to make the parts; `done` once all are there, at once where none is missing. */
export function startLater(done: () => void): void {
  const waiting = new Set(document.querySelectorAll<HTMLElement>(".later"));
  const make = (place: HTMLElement): void => {
    if (!waiting.delete(place)) return;
    observer.unobserve(place);
    const markup = place.querySelector("noscript")?.textContent ?? "";
    place.replaceWith(...new DOMParser().parseFromString(markup, "text/html").body.childNodes);
    if (waiting.size === 0) done();
  };
  const observer = new IntersectionObserver((seen) => {
    for (const { isIntersecting, target } of seen) if (isIntersecting) make(target as HTMLElement);
  }, { rootMargin: "600px" });
  for (const place of waiting) observer.observe(place);

  /** Makes the part that has the element of this id. */
  const makeWith = (id: string): void => {
    if (id === "" || document.getElementById(id)) return;
    for (const place of waiting) if (place.textContent.includes(`id="${id}"`)) make(place);
  };
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest<HTMLAnchorElement>("a[href^='#']") : null;
    if (link) makeWith(link.hash.slice(1));
  });
  addEventListener("beforeprint", () => { for (const place of waiting) make(place); });
  if (waiting.size === 0) {
    done();
    return;
  }
  if (location.hash !== "") {
    makeWith(location.hash.slice(1));
    location.replace(location.hash);
  }
  const pause = (deadline: Pick<IdleDeadline, "timeRemaining">): void => {
    for (const place of waiting) {
      make(place);
      if (deadline.timeRemaining() < SPARE) break;
    }
    if (waiting.size > 0) inPause(pause);
  };
  inPause(pause);
}

/** Calls `act` when the browser has time; Safari does not say when that is. */
function inPause(act: (deadline: Pick<IdleDeadline, "timeRemaining">) => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(act);
  else setTimeout(act, 0, { timeRemaining: () => 0 });
}
