// The page of each study: asks nobody, complains of nothing, can be used, and says what the JSON says.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { open, start } from "./browser";
import { folder, run, type Cell, type Experiment } from "./experiment";
import { findings, mistakes } from "./rules";

const STUDIES = ["rtt", "bdp", "window", "buffers", "loss"];
/** Ten gigabits a second without a loss take a minute in a program with all its checks, and look no different. */
const LIGHTER: Record<string, string[]> = { loss: ["--set", "path.rate=1gbit"] };
const experiments = new Map<string, Experiment>();
let browser: Browser;

before(async () => {
  const out = folder();
  for (const study of STUDIES) experiments.set(study, run(["study", study, "--quick", ...(LIGHTER[study] ?? [])], join(out, study)));
  browser = await start();
});

after(async () => {
  await browser.close();
});

function of(study: string): Experiment {
  const experiment = experiments.get(study);
  assert.ok(experiment);
  return experiment;
}

/** What a column shows, from the JSON alone. */
const COLUMNS: Record<string, (cell: Cell) => number | null> = {
  goodput: (cell) => cell.goodput_bps,
  received: (cell) => cell.goodput_bps,
  offered: (cell) => cell.offered_bps,
  "±%": (cell) => {
    const { goodput_bps: median, goodput_bps_low: low, goodput_bps_high: high } = cell;
    return median === null || low === null || high === null ? null : (100 * Math.max(median - low, high - median)) / median;
  },
  "publ.": (cell) => cell.published?.goodput_bps ?? null,
  ratio: (cell) => {
    const published = cell.published?.goodput_bps ?? null;
    return cell.goodput_bps === null || published === null ? null : cell.goodput_bps / published;
  },
  lost: (cell) => cell.lost_percent,
  "publ. lost": (cell) => cell.published?.lost_percent ?? null,
  jitter: (cell) => cell.jitter_ns,
  retr: (cell) => cell.retransmits,
  "publ. retr": (cell) => cell.published?.retransmits ?? null,
  RTT: (cell) => (cell.srtt_us_p50 === null ? null : cell.srtt_us_p50 * 1000),
  cwnd: (cell) => cell.cwnd_bytes_p50,
  rwnd: (cell) => cell.rwnd_bytes_p50,
  flight: (cell) => cell.in_flight_bytes_p50,
};
const PREFIXES: Record<string, number> = { "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, n: 1e-9, "µ": 1e-6, m: 1e-3 };

/** What a field says, in the unit of its value: its digits with its own prefix or the column's. */
function said(text: string, unit: string): number {
  if (text === "exact") return 0; // the width of the interval of a deterministic cell
  const [digits = "", own = ""] = text.split(" ");
  const prefix = own === "" ? unit.replace(/bit\/s$|B$|s$|%$/u, "") : own;
  const isTime = /^[nµm]?s$/u.test(unit) || (unit === "s" && own !== "");
  return Number(digits) * (PREFIXES[prefix] ?? NaN) * (isTime ? 1e9 : 1);
}

for (const study of STUDIES) {
  test(`${study}: every number of the main tables is the JSON's`, async () => {
    const { page, complaints } = await open(browser, of(study).page);
    const rows = await page.$$eval("table[data-sheet] tbody tr", (rows) =>
      rows.map((row) => {
        const table = row.closest("table");
        const heads = [...(table?.querySelectorAll("thead th") ?? [])];
        return {
          cell: row.getAttribute("data-cell"),
          caption: table?.caption?.textContent ?? "",
          fields: [...row.children].flatMap((field, place) => {
            const value = field.getAttribute("data-value");
            const column = heads[place]?.getAttribute("data-column") ?? "";
            const unit = heads[place]?.querySelector(".unit")?.textContent ?? "";
            return value === null ? [] : [{ column, value: Number(value), text: field.textContent, unit }];
          }),
        };
      }),
    );
    let compared = 0;
    for (const row of rows) {
      const cell = of(study).cells.find((cell) => row.cell === `cell-${cell.index}-${cell.backend ?? ""}`);
      assert.ok(cell, `a row of ${row.cell ?? "no cell"}`);
      if (/fitted|round trips|each flow|what was in use|congestion states/u.test(row.caption)) continue;
      for (const field of row.fields) {
        const want = COLUMNS[field.column]?.(cell);
        assert.ok(typeof want === "number", `${row.cell ?? ""} ${field.column}: not in the JSON`);
        assert.ok(Math.abs(field.value - want) <= 1e-9 * Math.abs(want), `${field.column}: ${field.value} and ${want}`);
        const shown = said(field.text, field.unit);
        assert.ok(Math.abs(shown - want) <= 0.0051 * Math.abs(want) || (want === 0 && shown === 0), `${field.column}: "${field.text}" ${field.unit} for ${want}`);
        compared += 1;
      }
    }
    assert.ok(compared >= 4, `${compared} numbers`);
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  test(`${study}: hovering, zooming, toggling, choosing a run, dark mode`, async () => {
    const { page, complaints } = await open(browser, of(study).page);
    await usesRun(page);
    await usesCharts(page);
    const before = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    await page.selectOption("#theme", "dark");
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.body).backgroundColor), before);
    await page.emulateMedia({ media: "print" });
    assert.equal(await page.evaluate(() => getComputedStyle(document.body).color), "rgb(27, 31, 36)", "paper is white");
    assert.ok(await page.locator("svg.picture").first().isVisible());
    assert.ok(await page.locator("#run-chart").isHidden());
    await page.emulateMedia({ media: "screen" });
    const term = page.locator("thead a.term").first();
    await term.focus();
    assert.ok((await page.locator("#tip").textContent())?.trim());
    assert.ok(await page.locator("#tip").isVisible());
    await page.keyboard.press("Escape");
    assert.ok(await page.locator("#tip").isHidden());
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  test(`${study}: readable without its script`, async () => {
    const { page, complaints } = await open(browser, of(study).page, { script: false });
    assert.ok(await page.locator("table.main").isVisible());
    assert.ok((await page.locator("svg.picture").count()) > 0);
    assert.ok(await page.locator("svg.picture").first().isVisible());
    assert.ok(await page.locator("#tools").isHidden());
    assert.ok(await page.locator("#run-chart").isHidden());
    assert.deepEqual(complaints, []);
    await page.context().close();
  });

  for (const dark of [false, true]) {
    test(`${study}: axe has no serious finding, ${dark ? "dark" : "light"}`, async () => {
      const { page } = await open(browser, of(study).page, { dark });
      assert.deepEqual(await findings(page), []);
      await page.context().close();
    });
  }

  test(`${study}: the markup is valid, and nothing sticks out at 400 pixels`, async () => {
    const file = of(study).page;
    assert.deepEqual(await mistakes(file), []);
    const { page } = await open(browser, file, { width: 400 });
    const width = await page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(width <= 400, `${width} pixels`);
    await page.context().close();
  });
}

/** Chooses every run, and looks for what the chart says under the pointer. */
async function usesRun(page: Page): Promise<void> {
  const chart = page.locator("#run-chart .chart");
  await chart.scrollIntoViewIfNeeded();
  await page.waitForSelector("#run-chart .chart[data-drawn]");
  const note = page.locator("#run-note");
  const first = await note.textContent();
  const runs = await page.locator("#run option").count();
  await page.selectOption("#run", String(runs - 1));
  if (runs > 1) assert.notEqual(await note.textContent(), first);
  await page.waitForSelector('#run-chart .chart[data-drawn="2"]');
  // By the keyboard, since a chart above that draws late moves the button away from the mouse. The chart says what it shows once it has drawn it.
  await page.getByRole("button", { name: "Zoom in: Run over time" }).press("Enter");
  await page.waitForSelector('#run-chart .chart[data-part="25-75"]');
  await page.getByRole("button", { name: "all: Run over time" }).press("Enter");
  await page.waitForSelector('#run-chart .chart[data-part="0-100"]');
  await chart.hover({ position: { x: 250, y: 90 } });
  await page.waitForSelector("#run-chart .bubble p");
  assert.match((await page.locator("#run-chart .bubble").textContent()) ?? "", /^at /u);
}

/** Takes a series out of every chart that has several, and puts it back. */
async function usesCharts(page: Page): Promise<void> {
  for (const figure of await page.locator("figure[data-chart]").all()) {
    await figure.scrollIntoViewIfNeeded();
    const chart = figure.locator(".chart");
    await figure.locator(".chart[data-drawn]").waitFor();
    const drawn = Number(await chart.getAttribute("data-drawn"));
    const box = figure.locator("input[type=checkbox]").first();
    if ((await box.count()) === 0) continue;
    await box.uncheck();
    await box.check();
    await figure.locator(`.chart[data-drawn="${drawn + 2}"]`).waitFor();
  }
}
