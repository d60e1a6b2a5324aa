// Two hundred cells: maps come first, charts come in parts instead of with the first few series, and the table sorts and chooses.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { open, start } from "./browser";
import { folder, run, type Experiment } from "./experiment";
import { findings, mistakes } from "./rules";

let browser: Browser;
let many: Experiment;

before(async () => {
  many = run(["run", "tests/many.toml"], join(folder(), "many"));
  browser = await start();
});

after(async () => {
  await browser.close();
});

/** The page once all of its parts are there. */
async function opened(width?: number): Promise<{ page: Page; complaints: string[] }> {
  const all = await open(browser, many.page, width === undefined ? {} : { width });
  await all.page.waitForSelector("html[data-whole=yes]", { state: "attached" });
  return all;
}

/** The numbers or words of a column of the main table, in the order of its rows. */
function column(page: Page, name: string): Promise<string[]> {
  return page.evaluate(
    (name) =>
      [...document.querySelectorAll<HTMLTableElement>("table.main")].flatMap((table) => {
        const place = [...(table.tHead?.rows[0]?.cells ?? [])].findIndex((head) => head.dataset["column"] === name);
        return [...(table.tBodies[0]?.rows ?? [])].map((row) => row.cells[place]?.dataset["value"] ?? row.cells[place]?.textContent.trim() ?? "");
      }),
    name,
  );
}

test("maps come before lines, and both before the tables", async () => {
  const { page, complaints } = await opened();
  const order = await page.$$eval("main > section[id]", (sections) => sections.map((section) => section.id));
  assert.deepEqual(order.slice(0, 3), ["answer", "charts", "result"]);
  const kinds = await page.$$eval("figure[data-chart]", (figures) => figures.map((figure) => figure.dataset["chart"]));
  assert.equal(kinds[0], "heat");
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("every series of a chart is in one of its parts, and all parts have the same axes", async () => {
  const { page } = await opened();
  const data = await page.$eval("#data", (data) => JSON.parse(data.textContent) as { charts: { plots: { title: string; series: unknown[]; x_range: number[]; y_range: number[] }[] } });
  const parts = data.charts.plots.filter((plot) => plot.title.startsWith("Goodput against the round trip"));
  assert.deepEqual(
    parts.map((part) => [part.title, part.series.length]),
    ["100mbit", "50mbit", "20mbit", "10mbit", "5mbit"].map((rate) => [`Goodput against the round trip (rate ${rate})`, 8]),
  );
  assert.equal(new Set(parts.map((part) => JSON.stringify([part.x_range, part.y_range]))).size, 1);
  await page.context().close();
});

test("a column sorts upwards, downwards, and back, through all parts of the table", async () => {
  const { page, complaints } = await opened();
  const planned = await column(page, "goodput");
  assert.equal(planned.length, 200);
  const button = page.getByRole("button", { name: "Sort by goodput" }).first();
  await button.focus();
  await page.keyboard.press("Enter");
  const upwards = [...planned].sort((a, b) => Number(a) - Number(b));
  assert.deepEqual(await column(page, "goodput"), upwards);
  assert.equal(await page.locator("table.main th[data-column=goodput]").first().getAttribute("aria-sort"), "ascending");
  await button.click();
  assert.deepEqual(await column(page, "goodput"), upwards.reverse());
  await button.click();
  assert.deepEqual(await column(page, "goodput"), planned);
  await page.getByRole("button", { name: "Sort by rate" }).first().click();
  assert.deepEqual([...new Set(await column(page, "rate"))], ["5mbit", "10mbit", "20mbit", "50mbit", "100mbit"], "by number, not by letter");
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("rows are chosen by axis and by limit", async () => {
  const { page } = await opened();
  const choices = page.locator("#result .choices").first();
  await choices.getByLabel("rtt").selectOption("20ms");
  assert.equal((await column(page, "rtt")).join(), Array(40).fill("20ms").join());
  assert.match((await choices.textContent()) ?? "", /40 of 200 rows/u);
  await choices.getByLabel("limit").selectOption("cwnd");
  const wanted = many.cells.filter((cell) => cell.axes["path.rtt"] === "20ms" && cell.limited_by === "cwnd").length;
  assert.equal((await column(page, "limit")).length, wanted);
  assert.ok(wanted > 0 && wanted < 40);
  assert.ok((await page.locator(".sheet:visible").count()) < 4, "parts without a row are hidden");
  await choices.getByLabel("rtt").selectOption("all");
  await choices.getByLabel("limit").selectOption("all");
  assert.equal((await column(page, "rtt")).length, 200);
  await page.context().close();
});

test("the markup is valid, axe has no serious finding, and a phone shows that a table scrolls", async () => {
  assert.deepEqual(await mistakes(many.page), []);
  const { page } = await opened(390);
  assert.deepEqual(await findings(page), []);
  const sheet = page.locator(".sheet").first();
  await sheet.scrollIntoViewIfNeeded();
  const { hidden, shadows } = await sheet.evaluate((sheet) => ({ hidden: sheet.scrollWidth - sheet.clientWidth, shadows: getComputedStyle(sheet).backgroundAttachment }));
  assert.ok(hidden > 0);
  assert.equal(shadows, "local, local, scroll, scroll");
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 390);
  await page.context().close();
});

test("a link leads to a verdict that the page has not made yet, and without the script all are there", async () => {
  const { page, complaints } = await open(browser, many.page, { script: false });
  assert.equal(await page.locator("#verdicts details").count(), 200);
  assert.equal(await page.locator("table.main tbody tr").count(), 200);
  await page.context().close();
  const { page: scripted } = await open(browser, many.page);
  await scripted.evaluate(() => { document.querySelector<HTMLElement>("table.main a[href^='#cell-']")?.click(); });
  assert.ok(await scripted.locator("#verdicts details[open]").first().isVisible());
  assert.match(scripted.url(), /#cell-0-sim$/u);
  assert.deepEqual(complaints, []);
  await scripted.context().close();
});
