// A thousand cells, and a run whose records have a million rows: how fast they open and react is printed; that they do is tested.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Page } from "playwright-core";
import { open, start } from "./browser";
import { folder, pageOf } from "./experiment";

/** A machine that does something else too is slow; a page that hangs is slower than this. */
const PATIENCE_MS = 20_000;

/** Each takes half a minute, most of it to make the records: `make proof` asks for both. */
const PAGES = process.env["PIPEFILL_PAGES"] === "all" ? [["thousand", 1000], ["million", 1]] as const : [];

for (const [name, rows] of PAGES) {
  test(`${name}: opens and reacts`, async () => {
    const file = pageOf(["run", `tests/${name}.toml`], join(folder(), name));
    const browser = await start();
    try {
      const { page, complaints } = await open(browser, file);
      const opened = await page.evaluate(() => {
        const [entry] = performance.getEntriesByType("navigation") as PerformanceNavigationTiming[];
        return entry?.domContentLoadedEventEnd ?? NaN;
      });
      const reacted = await reaction(page);
      const size = (statSync(file).size / 1e6).toFixed(2);
      console.log(`# ${name}: ${size} MB, opened after ${opened.toFixed(0)} ms, another run drawn after ${reacted.toFixed(0)} ms`);
      await page.waitForSelector("html[data-whole=yes]", { state: "attached" });
      assert.equal(await page.locator("table.main tbody tr").count(), rows);
      assert.ok(opened < PATIENCE_MS && reacted < PATIENCE_MS);
      assert.deepEqual(complaints, []);
    } finally {
      await browser.close();
    }
  });
}

/** Milliseconds from a choice until its chart is drawn. */
async function reaction(page: Page): Promise<number> {
  await page.locator("#run-chart .chart").scrollIntoViewIfNeeded();
  await page.waitForSelector("#run-chart .chart[data-drawn]");
  return page.evaluate(async () => {
    const choice = document.querySelector<HTMLSelectElement>("#run");
    if (!choice) return NaN;
    const began = performance.now();
    choice.value = String(choice.options.length - 1);
    choice.dispatchEvent(new Event("change"));
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    return performance.now() - began;
  });
}
