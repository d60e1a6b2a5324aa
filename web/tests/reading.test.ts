// What a reader sees first: the limit on a narrow screen, a run that can be believed, a legend for each panel.
import assert from "node:assert/strict";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { open, start } from "./browser";
import { folder, pageOf, renewed } from "./experiment";

let browser: Browser;
let out: string;

before(async () => {
  out = join(folder(), "reading");
  pageOf(["run", "tests/reading.toml"], out);
  const [first = ""] = readdirSync(join(out, "runs")).sort();
  const manifest = join(out, "runs", first, "manifest.json");
  const record = JSON.parse(readFileSync(manifest, "utf8")) as { invalid: unknown[] };
  record.invalid = [{ reason: "late_releases", detail: "p99 was 9 ms" }];
  writeFileSync(manifest, JSON.stringify(record));
  browser = await start();
});

after(async () => {
  await browser.close();
});

test("the limit is seen at 400 pixels without scrolling", async () => {
  const { page, complaints } = await open(browser, renewed(out), { width: 400 });
  const right = await page.$eval("table.main thead th[data-column=limit]", (head) => head.getBoundingClientRect().right);
  assert.ok(right <= 400, `the column ends at ${right} pixels`);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("the page opens on a run that can be believed", async () => {
  const { page } = await open(browser, renewed(out));
  assert.equal(await page.locator("#run").inputValue(), "1");
  assert.match((await page.locator("#run option").first().textContent()) ?? "", /\(invalid\)$/u);
  await page.selectOption("#run", "0");
  assert.match((await page.locator("#run-note").textContent()) ?? "", /an invalid run, not to be believed/u);
  await page.context().close();
});

test("each panel has a legend of its own, without two entries of one colour", async () => {
  const { page } = await open(browser, renewed(out));
  await page.locator("#run-chart .chart").scrollIntoViewIfNeeded();
  const panels = await page.$$eval("#run-chart fieldset", (sets) =>
    sets.map((set) => ({
      name: set.querySelector("legend")?.textContent,
      entries: [...set.querySelectorAll("label")].map((label) => ({ name: label.textContent, colour: label.querySelector("svg")?.style.color })),
    })),
  );
  assert.deepEqual(panels.map((panel) => panel.name), ["goodput", "windows", "send buffer (memory)", "RTT", "queue"]);
  for (const { name, entries } of panels) assert.equal(new Set(entries.map((entry) => entry.colour)).size, entries.length, name ?? "");
  assert.ok(panels[0]?.entries.some((entry) => entry.name === "path rate"));
  await page.context().close();
});

test("an axis that is neither a round trip nor a loss has charts", async () => {
  const { page } = await open(browser, renewed(out));
  const titles = await page.locator("figure[data-chart=along] figcaption").allTextContents();
  assert.deepEqual(titles, ["Goodput by queue", "Round trip under load by queue"]);
  for (const figure of await page.locator("figure[data-chart=along]").all()) {
    await figure.scrollIntoViewIfNeeded();
    await figure.locator(".chart[data-drawn]").waitFor();
  }
  await page.context().close();
});
