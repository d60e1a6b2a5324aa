// A page in Debian's chromium, opened from its file, with everything written down that it should not have done.
import { pathToFileURL } from "node:url";
import { chromium, type Browser, type Page } from "playwright-core";

/** An open page. */
export interface Opened {
  page: Page;
  /** Requests beyond the file itself, errors, warnings, refusals of the policy. */
  complaints: string[];
}

/** What a visitor may have set. */
export interface Wishes {
  dark?: boolean;
  script?: boolean;
  width?: number;
}

/** Starts the browser; to be closed. */
export function start(): Promise<Browser> {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
}

/** Opens the file. */
export async function open(browser: Browser, file: string, wishes: Wishes = {}): Promise<Opened> {
  const context = await browser.newContext({
    colorScheme: wishes.dark ? "dark" : "light",
    javaScriptEnabled: wishes.script ?? true,
    viewport: { width: wishes.width ?? 1200, height: 900 },
  });
  const page = await context.newPage();
  const complaints: string[] = [];
  const url = pathToFileURL(file).href;
  page.on("request", (request) => {
    if (request.url() !== url) complaints.push(`request: ${request.url()}`);
  });
  page.on("console", (message) => complaints.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => complaints.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  await page.goto(url);
  if (wishes.script ?? true) await page.waitForSelector("html[data-ready=yes]", { state: "attached" });
  return { page, complaints };
}
