// Bundles the page's script and style into dist/; with the word "tests" the browser tests into build/tests/; with the word "types" writes
// build/model.d.ts, the types of the page's data, from its schema.
import { build } from "esbuild";
import { mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";

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
} else if (process.argv[2] === "types") {
  const { compileFromFile } = await import("json-schema-to-typescript");
  const options = { additionalProperties: false, bannerComment: "// Written by build.mjs from schemas/page.json.", format: false };
  mkdirSync("build", { recursive: true });
  writeFileSync("build/model.d.ts", await compileFromFile("../schemas/page.json", options));
} else {
  await build({ ...settings, entryPoints: ["src/page.ts"], outfile: "dist/page.js", format: "iife", minify: true });
  await build({ ...settings, entryPoints: ["src/style.css"], outfile: "dist/page.css", minify: true });
  for (const name of ["dist/page.js", "dist/page.css"]) console.log(`${name}: ${statSync(name).size} bytes`);
}
