// What lies under the pointer in a chart of cells: its lines, and which cell it is of.

/** What a click on a cell does. */
export type Choose = (cell: string) => void;

/** Lines of the item under the pointer. */
export function textOf(item: unknown): string[] {
  const data = (item as { data?: { text?: string[] } }).data;
  return data?.text ?? [];
}

/** Whether it is a cell's. */
export function isOf(item: unknown): item is { cell: string } {
  return typeof item === "object" && item !== null && typeof (item as { cell?: unknown }).cell === "string";
}
