// The page of a capture: from the whole down to single segments, by keyboard and pointer, for captures of any size.
import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { Browser, Page } from "playwright-core";
import { open, start, type Wishes } from "./browser";
import { folder, pageOf, pipefill } from "./experiment";
import { MSS, capture } from "./packets";
import { findings, mistakes } from "./rules";

const out = folder();
const AGAIN = [300, 900];
/** A machine that does something else too is slow; a page that hangs is slower than this. */
const PATIENCE_MS = 20_000;
/** Bytes that a page of one connection may have, whatever its length: the script is some 0.7 MB of them. */
const LARGEST = 6e6;
/** Segments of the large capture; `make proof` asks for a million. */
const MANY = process.env["PIPEFILL_PAGES"] === "all" ? 1_000_000 : 250_000;
let browser: Browser;
let small: string;

/** The page of a capture of so many segments. */
function page(name: string, segments: number, again: number[]): { file: string; packets: number } {
  const packets = capture(join(out, `${name}.pcap`), segments, new Set(again));
  const file = join(out, `${name}.html`);
  pipefill(["pcap", join(out, `${name}.pcap`), "--page", file]);
  return { file, packets };
}

before(async () => {
  small = page("small", 1500, AGAIN).file;
  browser = await start();
});
after(() => browser.close());

async function opened(file: string, wishes: Wishes = {}): Promise<{ page: Page; complaints: string[] }> {
  const all = await open(browser, file, wishes);
  await all.page.locator("#capture-chart").scrollIntoViewIfNeeded();
  await all.page.waitForSelector("#capture-chart[data-loaded] .chart[data-drawn]");
  await all.page.locator("#capture-chart").focus();
  return all;
}

/** The view, nanoseconds. */
async function view(page: Page): Promise<[number, number]> {
  const text = (await page.locator("#capture-chart").getAttribute("data-view")) ?? "";
  const [from = NaN, to = NaN] = text.split(" ").map(Number);
  return [from, to];
}

/** Presses a key, and waits until the view is another one. */
async function press(page: Page, key: string): Promise<void> {
  const before = await page.locator("#capture-chart").getAttribute("data-view");
  await page.keyboard.press(key);
  await page.waitForFunction((old) => document.querySelector<HTMLElement>("#capture-chart")?.dataset["view"] !== old, before);
}

/** Opens the table of marks, which is filled then. */
async function openTable(page: Page): Promise<void> {
  await page.locator("#capture-table summary").click();
  await page.waitForSelector("#capture-table tbody tr");
}

/** The rows of the table of marks: time, what, values. */
async function rows(page: Page): Promise<string[][]> {
  return page.locator("#capture-table tbody tr").evaluateAll((all) => all.map((row) => [...row.children].map((cell) => cell.textContent)));
}

/** Sequence numbers of a segment, as the table has them. */
function numbers(segment: number): string {
  return `${1 + segment * MSS} – ${1 + (segment + 1) * MSS}`;
}

test("the keyboard goes to each event, and down to single segments with their sequence numbers", async () => {
  const { page, complaints } = await opened(small);
  const whole = await view(page);
  await openTable(page);
  await page.locator("#capture-chart").focus();
  const found: string[] = [];
  for (let event = 0; event < AGAIN.length + 1; event += 1) {
    await press(page, "n");
    const [from, to] = await view(page);
    const middle = (from + to) / 2e9;
    const here = (await rows(page)).filter(([at, what]) => Math.abs(Number(at) - middle) < 1e-6 && /retransmit|zero/u.test(what ?? ""));
    found.push(...here.map(([, what, values]) => `${what ?? ""} ${values ?? ""}`));
  }
  assert.deepEqual(found, [`fast retransmit ${numbers(300)}`, `zero window ${1 + 751 * MSS}`, `fast retransmit ${numbers(900)}`]);
  await press(page, "p");
  await press(page, "p");
  for (let [from, to] = await view(page); to - from > 40_000; [from, to] = await view(page)) await press(page, "+");
  const inView = (await rows(page)).filter(([, what]) => /data|retransmit/u.test(what ?? ""));
  assert.deepEqual(inView.map(([, what, values, bytes]) => [what, values, bytes]), [
    ["fast retransmit", numbers(300), String(MSS)],
    ["data", numbers(500), String(MSS)],
  ]);
  assert.match((await page.locator("#capture-summary").textContent()) ?? "", /data 1, fast retransmit 1,.*Every segment is drawn\./u);
  await press(page, "ArrowRight");
  await press(page, "-");
  await press(page, "Home");
  assert.deepEqual(await view(page), whole);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("dragging and the wheel zoom, and the pointer tells what is there", async () => {
  const { page, complaints } = await opened(small);
  const chart = page.locator("#capture-chart .chart");
  const box = await chart.boundingBox();
  assert.ok(box);
  const [from, to] = await view(page);
  await page.mouse.move(box.x + 300, box.y + 120);
  await page.mouse.down();
  await page.mouse.move(box.x + 500, box.y + 140, { steps: 3 });
  await page.mouse.up();
  await page.waitForFunction((old) => Number(document.querySelector<HTMLElement>("#capture-chart")?.dataset["view"]?.split(" ")[1]) < old, to);
  const dragged = await view(page);
  assert.ok(dragged[0] > from && dragged[1] - dragged[0] < (to - from) / 3, String(dragged));
  await page.keyboard.down("Control");
  await page.mouse.wheel(0, -100);
  await page.keyboard.up("Control");
  await page.waitForFunction((old) => document.querySelector<HTMLElement>("#capture-chart")?.dataset["view"] !== old, dragged.join(" "));
  const wheeled = await view(page);
  assert.ok(wheeled[1] - wheeled[0] < dragged[1] - dragged[0]);
  await chart.hover({ position: { x: 400, y: 500 } });
  assert.match((await page.locator("#capture-chart .float").textContent()) ?? "", /^at [\d.]+ s/u);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("the command of a view makes a page of its segments", async () => {
  const { page } = await opened(small);
  await press(page, "n");
  await press(page, "+");
  const command = (await page.locator("#capture-command code").textContent()) ?? "";
  const [from, to] = await view(page);
  await page.context().close();
  const words = command.split(" ");
  assert.deepEqual([words[0], words[1], words[3]], ["pipefill", "pcap", "--connection"]);
  const part = join(out, words.at(-1) ?? "");
  pipefill([...words.slice(1, -1), part]);
  const { page: again, complaints } = await opened(part);
  const shown = await view(again);
  assert.ok(Math.abs(shown[0] - from) < 1e3 && Math.abs(shown[1] - to) < 1e3, `${shown.join()} is not ${from},${to}`);
  await openTable(again);
  assert.ok((await rows(again)).some(([, what, values]) => what === "fast retransmit" && values === numbers(300)));
  assert.deepEqual(complaints, []);
  await again.context().close();
});

test("the markup is valid, axe has no serious finding, and nothing sticks out at 400 pixels", async () => {
  assert.deepEqual(await mistakes(small), []);
  for (const dark of [false, true]) {
    const { page } = await opened(small, { dark });
    await openTable(page);
    assert.deepEqual(await findings(page), []);
    await page.context().close();
  }
  const { page } = await opened(small, { width: 400 });
  await press(page, "n");
  await openTable(page);
  const width = await page.evaluate(() => document.documentElement.scrollWidth);
  assert.ok(width <= 400, `${width} pixels`);
  const limit = await page.locator("#flows td:nth-child(2)").boundingBox();
  assert.ok(limit && limit.x + limit.width <= 400, "the limit is seen without scrolling");
  await page.context().close();
});

test("without its script the page has the flows, the verdicts and still pictures", async () => {
  const { page, complaints } = await open(browser, small, { script: false });
  assert.equal(await page.locator("#flows tbody tr").count(), 1);
  assert.ok((await page.locator("#packets svg.picture").count()) >= 4);
  assert.equal(await page.locator("#verdicts details").count(), 1);
  assert.deepEqual(complaints, []);
  await page.context().close();
});

test("a capture of many packets is a page of bounded size that reacts", async () => {
  const again = Array.from({ length: 200 }, (_, number) => number * (MANY / 200 - 20) + 700);
  const { file, packets } = page("large", MANY, again);
  assert.ok(packets > 2 * MANY, String(packets));
  const size = statSync(file).size;
  assert.ok(size < LARGEST, `${size} bytes`);
  const began = performance.now();
  const { page: large, complaints } = await opened(file);
  const told = (await large.locator("#capture-summary").textContent()) ?? "";
  assert.match(told, new RegExp(`data ${MANY}, fast retransmit 200`, "u"));
  const took = performance.now() - began;
  await press(large, "n");
  await openTable(large);
  assert.ok((await rows(large)).some(([, what, values]) => what === "fast retransmit" && values === numbers(700)));
  await large.locator("#capture-chart").focus();
  const before = performance.now();
  for (const key of ["-", "-", "-", "-", "ArrowRight", "Home"]) await press(large, key);
  const reaction = (performance.now() - before) / 6;
  console.log(`# large: ${packets} packets, ${(size / 1e6).toFixed(2)} MB, drawn after ${took.toFixed(0)} ms, a key ${reaction.toFixed(0)} ms`);
  assert.ok(took < PATIENCE_MS && reaction < PATIENCE_MS / 10);
  assert.deepEqual(complaints, []);
  await large.context().close();
});

test("the page of captured runs has the graphs of each cell", async () => {
  const file = pageOf(["run", "tests/reading.toml", "--capture"], join(out, "captured"));
  const { page, complaints } = await opened(file);
  const cells = await page.locator("#connection option").count();
  assert.ok(cells > 1);
  await page.selectOption("#connection", String(cells - 1));
  await page.waitForSelector(`#capture-chart[data-loaded="${cells - 1}"]`);
  assert.match((await page.locator("#capture-command").textContent()) ?? "", /sender\.pcapng --connection 0 --from /u);
  assert.deepEqual(await mistakes(file), []);
  assert.deepEqual(complaints, []);
  await page.context().close();
});
