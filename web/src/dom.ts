// Elements made of text: nothing here reads markup, so that no text of a scenario can become one.

type Child = Node | string;

/** An element with properties set and children appended. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<Record<string, string>> = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) if (value !== undefined) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** The element of that id, which the page has. */
export function byId(id: string): HTMLElement {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found;
}

/** A button that does something. */
export function button(text: string, name: string, act: () => void): HTMLButtonElement {
  const made = element("button", { type: "button", "aria-label": name }, text);
  made.addEventListener("click", act);
  return made;
}

/** What a chart shows beside the pointer: a line each. */
export function bubble(lines: string[]): HTMLElement {
  return element("div", { class: "bubble" }, ...lines.map((line) => element("p", {}, line)));
}
