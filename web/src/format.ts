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

/** Bytes from the beginning, all digits: `12 345 678 B`. */
export const position = (count: number): string => `${grouped(count, 0)} B`;

/** The same with as many digits as steps of `step` bytes need: `12.5 MB`, `12 345.5 kB`. */
export function positionBy(count: number, step: number): string {
  const level = [2, 1].find((power) => step >= 100 * 1000 ** (power - 1)) ?? 0;
  return count === 0 ? "0" : `${grouped(count / 1000 ** level, level === 0 ? 0 : 1)} ${DECIMAL[level] ?? ""}B`;
}

function grouped(value: number, digits: number): string {
  return value.toLocaleString("en", { maximumFractionDigits: digits }).replaceAll(",", "\u202f");
}

/** For an axis: without digits that say nothing. */
export function short(text: string): string {
  if (text.startsWith("0 ")) return "0";
  return text.replace(/(\.\d*?)0+(?= |$)/u, "$1").replace(/\.(?= |$)/u, "");
}

/** The least of 1, 2 and 5 times a power of ten that cuts a range into no more than these parts. */
export function roundStep(range: number, parts: number): number {
  const power = 10 ** Math.floor(Math.log10(range / parts));
  return ([1, 2, 5].find((factor) => factor * power * parts >= range) ?? 10) * power;
}

/** The same of whole units. */
export function wholeStep(range: number, parts: number): number {
  return Math.max(1, roundStep(range, parts));
}
