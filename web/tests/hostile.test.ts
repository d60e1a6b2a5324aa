// Names and sentences that would be markup somewhere else are text here.
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { open, start } from "./browser";
import { folder, run } from "./experiment";

test("markup, quotes, emoji and right-to-left text are shown as text", async () => {
  const out = join(folder(), `<script>window.hurt=5<script> "it's" 🚀 שלום`);
  const experiment = run(["run", "tests/hostile.toml"], out);
  const browser = await start();
  try {
    for (const script of [true, false]) {
      const { page, complaints } = await open(browser, experiment.page, { script });
      const heading = await page.locator("h1").textContent();
      assert.match(heading ?? "", /^<script>document\.title='run'<\/script> "quoted" 'too' & 🚀 שלום עולם <img/u);
      assert.match((await page.locator("footer").textContent()) ?? "", /مرحبا <\/style><script>window\.hurt=1<\/script>/u);
      assert.match((await page.locator(".conclusions").textContent()) ?? "", /<svg onload=window\.hurt=2> it's “fast” 🚀/u);
      assert.match((await page.locator("#scenario pre").textContent()) ?? "", /^# <\/script><script>window\.hurt=4<\/script> 🚀/u);
      assert.match((await page.locator("#verdicts .command").first().textContent()) ?? "", /<script>window\.hurt=5<script> \\"it's\\" 🚀 שלום/u);
      assert.equal(await page.locator("main img").count(), 0);
      if (script) {
        assert.equal(await page.evaluate(() => (globalThis as { hurt?: number }).hurt), undefined);
        assert.match(await page.title(), /^<script>document\.title/u);
      }
      assert.deepEqual(complaints, []);
      await page.context().close();
    }
  } finally {
    await browser.close();
  }
});
