// Tables that sort by a column, and show the rows that somebody chooses.
import { button, element } from "./dom";

/** Tables with fewer rows are seen whole. */
const FILTERED = 12;
/** A column with more different words is not offered as a choice. */
const WORDS = 120;
const ANY = "all";

/** A part of a table that has too many rows for one. */
interface Part {
  region: HTMLElement;
  caption: HTMLElement;
  body: HTMLTableSectionElement;
}

/** Makes every table of the page's result sort, and the long ones choose. */
export function startTables(): void {
  const sheets = new Map<string, HTMLTableElement[]>();
  for (const table of document.querySelectorAll<HTMLTableElement>("table[data-sheet]")) {
    const number = table.dataset["sheet"] ?? "";
    const parts = sheets.get(number);
    if (parts) parts.push(table);
    else sheets.set(number, [table]);
  }
  for (const parts of sheets.values()) new Sheet(parts);
}

/** A table, in one part or several. */
class Sheet {
  readonly #parts: Part[];
  /** In the scenario's order. */
  readonly #rows: HTMLTableRowElement[];
  readonly #heads: HTMLTableCellElement[][];
  readonly #title: string;
  /** Rows of a part. */
  readonly #size: number;
  readonly #note = element("span", { class: "hint", "aria-live": "polite" });
  #by: { column: number; factor: 1 | -1 } | null = null;
  readonly #chosen = new Map<number, string>();

  constructor(tables: HTMLTableElement[]) {
    this.#parts = tables.flatMap((table) => {
      const [region, caption, body] = [table.closest<HTMLElement>(".sheet"), table.caption?.querySelector("bdi"), table.tBodies[0]];
      return region && caption && body ? [{ region, caption, body }] : [];
    });
    this.#rows = this.#parts.flatMap(({ body }) => [...body.rows]);
    this.#size = this.#parts[0]?.body.rows.length ?? 1;
    this.#heads = tables.map((table) => [...(table.tHead?.rows[0]?.cells ?? [])]);
    this.#title = tables[0]?.dataset["title"] ?? "";
    if (this.#rows.length < 2) return;
    for (const heads of this.#heads) {
      for (const [column, head] of heads.entries()) head.append(this.#sorter(column, head.dataset["column"] ?? ""));
    }
    if (this.#rows.length >= FILTERED) this.#parts[0]?.region.before(this.#choices());
  }

  #sorter(column: number, name: string): HTMLButtonElement {
    const made = button("", `Sort by ${name}`, () => { this.#sort(column); });
    made.className = "sort";
    return made;
  }

  /** Upwards, downwards, as the scenario has it. */
  #sort(column: number): void {
    const isBy = this.#by?.column === column;
    if (!isBy) this.#by = { column, factor: 1 };
    else if (this.#by?.factor === 1) this.#by = { column, factor: -1 };
    else this.#by = null;
    for (const heads of this.#heads) {
      for (const [place, head] of heads.entries()) {
        if (this.#by?.column === place) head.setAttribute("aria-sort", this.#by.factor === 1 ? "ascending" : "descending");
        else head.removeAttribute("aria-sort");
      }
    }
    this.#arrange();
  }

  /** A choice for each column of words. */
  #choices(): HTMLElement {
    const made = element("div", { class: "controls choices" });
    for (const [column, head] of (this.#heads[0] ?? []).entries()) {
      if (head.classList.contains("number")) continue;
      const words = [...new Set(this.#rows.map((row) => wordOf(row, column)))];
      if (words.length < 2 || words.length > WORDS) continue;
      const name = head.dataset["column"] ?? "";
      const select = element("select", {}, ...[ANY, ...words].map((word) => element("option", { value: word }, word)));
      select.addEventListener("change", () => {
        if (select.selectedIndex === 0) this.#chosen.delete(column);
        else this.#chosen.set(column, select.value);
        this.#arrange();
      });
      made.append(element("label", {}, element("bdi", {}, name), select));
    }
    if (made.childElementCount > 0) made.append(this.#note);
    return made;
  }

  /** Puts the rows that are chosen into the parts, in their order. */
  #arrange(): void {
    const by = this.#by;
    const chosen = this.#rows.filter((row) => [...this.#chosen].every(([column, word]) => wordOf(row, column) === word));
    const rows = by ? chosen.map((row) => ({ row, key: keyOf(row, by.column) })).sort((a, b) => compared(a.key, b.key, by.factor)).map(({ row }) => row) : chosen;
    for (const [number, { region, caption, body }] of this.#parts.entries()) {
      const from = number * this.#size;
      const own = rows.slice(from, from + this.#size);
      body.replaceChildren(...own);
      region.hidden = own.length === 0 && number > 0;
      caption.textContent = rows.length > this.#size ? `${this.#title}, ${from + 1} to ${from + own.length} of ${rows.length}` : this.#title;
    }
    this.#note.textContent = rows.length < this.#rows.length ? `${rows.length} of ${this.#rows.length} rows` : "";
  }
}

function wordOf(row: HTMLTableRowElement, column: number): string {
  return row.cells[column]?.textContent.trim() ?? "";
}

/** The number behind a field, else its words; null for what was not measured. */
function keyOf(row: HTMLTableRowElement, column: number): number | string | null {
  const field = row.cells[column];
  const number = field?.dataset["value"] ?? field?.dataset["order"];
  if (number !== undefined) return Number(number);
  const word = wordOf(row, column);
  return word === "–" ? null : word;
}

/** What was not measured comes last, whatever the direction. */
function compared(a: number | string | null, b: number | string | null, factor: 1 | -1): number {
  if (a === null || b === null) return Number(a === null) - Number(b === null);
  if (typeof a === "number" && typeof b === "number") return factor * (a - b);
  return factor * String(a).localeCompare(String(b), "en", { numeric: true });
}
