const seen = new Set<string>();

/** Keeps the text of each distinct statement that the application runs. */
export function recordStatement(sql: string): void {
  seen.add(sql);
}

export function recordedStatements(): ReadonlySet<string> {
  return seen;
}
