// Quantities for people: three significant digits and a prefix, as crates/report/src/quantity.rs writes them.

const DECIMAL = ["", "k", "M", "G", "T"];
const TIME = ["n", "µ", "m", ""];

function digits(value: number): string {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(2).split("e")[1]);
  return value.toFixed(Math.max(0, 2 - exponent));
}

function scaled(value: number, prefixes: string[], unit: string): string {
  let level = 0;
  let rest = value;
  while (level + 1 < prefixes.length && Math.abs(rest) >= 999.5) {
    rest /= 1000;
    level += 1;
  }
  return `${digits(rest)} ${prefixes[level] ?? ""}${unit}`;
}

export const rate = (bps: number): string => scaled(bps, DECIMAL, "bit/s");
export const bytes = (count: number): string => scaled(count, DECIMAL, "B");
export const time = (ns: number): string => scaled(ns, TIME, "s");
export const percent = (value: number): string => `${digits(value)} %`;
export const ratio = (value: number): string => digits(value);

/** For an axis: without digits that say nothing. */
export function short(text: string): string {
  if (text.startsWith("0 ")) return "0";
  return text.replace(/(\.\d*?)0+(?= |$)/u, "$1").replace(/\.(?= |$)/u, "");
}

/** The least of 1, 2 and 5 times a power of ten that cuts a range of whole units into no more than these parts. */
export function wholeStep(range: number, parts: number): number {
  const rough = Math.max(1, range / parts);
  const power = 10 ** Math.floor(Math.log10(rough));
  return ([1, 2, 5].find((factor) => factor * power >= rough) ?? 10) * power;
}
