// Quantities for people: three significant digits and a prefix, as crates/report/src/quantity.rs writes them.

const DECIMAL = ["", "k", "M", "G", "T"];
const BINARY = ["", "Ki", "Mi", "Gi", "Ti"];
const TIME = ["n", "µ", "m", ""];

function digits(value: number): string {
  if (value === 0) return "0";
  const exponent = Number(value.toExponential(2).split("e")[1]);
  return value.toFixed(Math.max(0, 2 - exponent));
}

function scaled(value: number, base: number, prefixes: string[], unit: string): string {
  let level = 0;
  let rest = value;
  while (level + 1 < prefixes.length && Math.abs(rest) >= base - 0.5) {
    rest /= base;
    level += 1;
  }
  return `${digits(rest)} ${prefixes[level] ?? ""}${unit}`;
}

export const rate = (bps: number): string => scaled(bps, 1000, DECIMAL, "bit/s");
export const bytes = (count: number): string => scaled(count, 1024, BINARY, "B");
export const time = (ns: number): string => scaled(ns, 1000, TIME, "s");
export const percent = (value: number): string => `${digits(value)} %`;
export const ratio = (value: number): string => digits(value);

/** For an axis: without digits that say nothing. */
export function short(text: string): string {
  if (text.startsWith("0 ")) return "0";
  return text.replace(/(\.\d*?)0+(?= |$)/u, "$1").replace(/\.(?= |$)/u, "");
}
