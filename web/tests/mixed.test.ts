// A run of several flows: each has its line, its bands, and its round trips.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser } from "playwright-core";
import { open, start } from "./browser";
import { folder, pageOf } from "./experiment";

let browser: Browser;
let file: string;

before(async () => {
  file = pageOf(["run", "tests/mixed.toml"], join(folder(), "mixed"));
  browser = await start();
});

after(async () => {
  await browser.close();
});

test("goodput has an entry for each flow, each direction and each rate of the path", async () => {
  const { page, complaints } = await open(browser, file);
  await page.locator("#run-chart .chart").scrollIntoViewIfNeeded();
  await page.waitForSelector("#run-chart .chart[data-drawn]");
  const entries = await page.locator("#run-chart fieldset").first().locator("label").allTextContents();
  for (const name of ["all →", "0 tcp →", "1 tcp ←", "2 udp →", "path rate →", "path rate ←"]) {
    assert.ok(entries.includes(name), `${name} in ${entries.join(", ")}`);
  }
  await page.locator("#run-chart .chart").hover({ position: { x: 400, y: 90 } });
  await page.waitForSelector("#run-chart .bubble p");
  assert.match((await page.locator("#run-chart .bubble").textContent()) ?? "", /1 tcp ←: .*limited by \(1 tcp ←\)/u);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("round trips have a chart with pings under load and without it", async () => {
  const { page, complaints } = await open(browser, file, { width: 400 });
  const figure = page.locator("figure[data-chart=trips]");
  await figure.scrollIntoViewIfNeeded();
  await figure.locator(".chart[data-drawn]").waitFor();
  const entries = await figure.locator("label").allTextContents();
  assert.deepEqual(entries, ["0 tcp →, smoothed", "1 tcp ←, smoothed", "pings under load", "pings without load", "idle RTT"]);
  assert.ok((await page.evaluate(() => document.documentElement.scrollWidth)) <= 400);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
