// Bundles the page's script and style into dist/; with the word "tests" the browser tests into build/tests/.
import { build } from "esbuild";
import { readdirSync, rmSync, statSync } from "node:fs";

const settings = { bundle: true, target: "es2022", legalComments: "none", logLevel: "warning" };

if (process.argv[2] === "tests") {
  const tests = readdirSync("tests").filter((name) => name.endsWith(".test.ts"));
  rmSync("build/tests", { recursive: true, force: true });
  await build({
    ...settings,
    entryPoints: tests.map((name) => `tests/${name}`),
    outdir: "build/tests",
    outExtension: { ".js": ".mjs" },
    format: "esm",
    platform: "node",
    packages: "external",
  });
} else {
  await build({ ...settings, entryPoints: ["src/page.ts"], outfile: "dist/page.js", format: "iife", minify: true });
  await build({ ...settings, entryPoints: ["src/style.css"], outfile: "dist/page.css", minify: true });
  for (const name of ["dist/page.js", "dist/page.css"]) console.log(`${name}: ${statSync(name).size} bytes`);
}
