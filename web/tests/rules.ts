// What any page has to obey: markup that is valid, and what axe finds.
import { readFileSync } from "node:fs";
import axe from "axe-core";
import { HtmlValidate } from "html-validate";
import type { Page } from "playwright-core";

/** The first mistakes in the markup of a file. */
export async function mistakes(file: string): Promise<string[]> {
  const validate = new HtmlValidate({
    extends: ["html-validate:standard"],
    rules: { "no-inline-style": "error", "require-sri": "off", "long-title": "off", "no-trailing-whitespace": "off" },
  });
  const report = await validate.validateString(readFileSync(file, "utf8"), file);
  return report.results.flatMap((result) => result.messages.map((one) => `${one.line}: ${one.ruleId}: ${one.message}`)).slice(0, 10);
}

/** Serious and critical findings of axe. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(axe.source);
  return page.evaluate(async () => {
    const { axe } = globalThis as unknown as { axe: typeof import("axe-core") };
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    const serious = violations.filter((one) => one.impact === "serious" || one.impact === "critical");
    return serious.map((one) => `${one.id}: ${one.help}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
  });
}
