// Three axes and three runs of each cell: which axes a map shows is chosen, the runs have boxes, points stand beside theory.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Locator, Page } from "playwright-core";
import { open, start } from "./browser";
import { folder, pageOf } from "./experiment";

let browser: Browser;
let file: string;

before(async () => {
  file = pageOf(["run", "tests/cube.toml"], join(folder(), "cube"));
  browser = await start();
});

after(async () => {
  await browser.close();
});

/** The choice of that name above the map. */
function choice(page: Page, name: string): Locator {
  return page.locator("figure[data-chart=heat] .choices").getByLabel(name, { exact: true });
}

/** The chosen words of each choice above the map, by their labels. */
function chosen(page: Page): Promise<[string, string][]> {
  return page.$$eval("figure[data-chart=heat] .choices label", (labels) =>
    labels.map((label): [string, string] => [label.querySelector("bdi")?.textContent ?? "", label.querySelector("select")?.selectedOptions[0]?.text ?? ""]),
  );
}

test("the axes of a map and the values of the others are chosen", async () => {
  const { page, complaints } = await open(browser, file);
  const chart = page.locator("figure[data-chart=heat] .chart");
  await chart.scrollIntoViewIfNeeded();
  await page.waitForSelector("figure[data-chart=heat] .chart[data-drawn]");
  assert.deepEqual(await chosen(page), [["across", "rate"], ["down", "rtt"], ["queue", "0.2bdp"]]);
  await choice(page, "queue").selectOption("1bdp");
  await choice(page, "down").selectOption("queue");
  assert.deepEqual(await chosen(page), [["across", "rate"], ["down", "queue"], ["rtt", "5ms"]]);
  await choice(page, "across").selectOption("queue");
  assert.deepEqual(await chosen(page), [["across", "queue"], ["down", "rate"], ["rtt", "5ms"]], "an axis is never both");
  await page.waitForSelector('figure[data-chart=heat] .chart[data-drawn="4"]');
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("what is chosen is what the pointer finds", async () => {
  const { page } = await open(browser, file);
  const chart = page.locator("figure[data-chart=heat] .chart");
  await chart.scrollIntoViewIfNeeded();
  await page.waitForSelector("figure[data-chart=heat] .chart[data-drawn]");
  await choice(page, "queue").selectOption("1bdp");
  await chart.hover({ position: { x: 150, y: 45 } });
  await page.waitForSelector("figure[data-chart=heat] .bubble p");
  const lines = await page.locator("figure[data-chart=heat] .bubble p").allTextContents();
  assert.deepEqual(lines.slice(0, 3), ["rate 5mbit", "rtt 5ms", "queue 1bdp"]);
  await page.context().close();
});

test("without the script there is a map for each value of the third axis, a box for each cell, and theory below the points", async () => {
  const { page, complaints } = await open(browser, file, { script: false });
  assert.equal(await page.locator("figure[data-chart=heat] svg.picture").count(), 2);
  assert.equal(await page.locator("figure[data-chart=repeats] rect.box").count(), 8);
  assert.match((await page.locator("figure[data-chart=plot] svg.picture").first().textContent()) ?? "", /measured \/ lowest line/u);
  assert.equal(await page.locator("#runs svg.picture", { hasText: "send buffer" }).count(), 8);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
