/** Comma-separated values by RFC 4180; quotes only where they are needed. */
export function csvOf(rows: readonly (readonly string[])[], delimiter = ','): string {
  return rows
    .map((cells) => `${cells.map((cell) => quoted(cell, delimiter)).join(delimiter)}\r\n`)
    .join('');
}

function quoted(cell: string, delimiter: string): string {
  const plain = !cell.includes(delimiter) && !/["\r\n]/.test(cell);
  return plain ? cell : `"${cell.replaceAll('"', '""')}"`;
}
