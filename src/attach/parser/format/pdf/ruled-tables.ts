import type { Rule, Run } from './page-glyphs.js';
import { linesOf, segmentsOf } from './page-lines.js';

/** Rows of cells; a cell may have several lines. */
export interface Table {
  readonly rows: readonly (readonly string[])[];
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** Distance in points at which lines meet, or are one where they are parallel. */
const NEAR = 3;

/** Maximum lines of text per row of a ruled table; more in every row show that the rows are not divided by lines. */
const UNDIVIDED_LINES = 2;

const CELL_LIMIT = 10_000;
const CELL_LENGTH = 3_000;

/** The tables whose cells are divided by drawn lines, and the text outside of them. */
export function ruledTables(
  runs: readonly Run[],
  rules: readonly Rule[],
): { readonly tables: Table[]; readonly rest: Run[] } {
  let rest = [...runs];
  const tables: Table[] = [];
  for (const grid of gridsOf(rules)) {
    const inside = rest.filter((run) => grid.holds(run));
    const table = inside.length > 0 ? tableOf(grid, inside) : undefined;
    if (!table) continue;
    tables.push(table);
    const tableRuns = new Set(inside);
    rest = rest.filter((run) => !tableRuns.has(run));
  }
  return { tables, rest };
}

/** Lines that cross each other, with the coordinates of all of them. */
class Grid {
  /** Ascending, and descending. */
  readonly xs: readonly number[];
  readonly ys: readonly number[];

  constructor(
    private readonly across: readonly Rule[],
    private readonly upright: readonly Rule[],
  ) {
    this.xs = distinct([
      ...upright.map(({ at }) => at),
      ...across.flatMap(({ from, to }) => [from, to]),
    ]);
    this.ys = distinct([
      ...across.map(({ at }) => at),
      ...upright.flatMap(({ from, to }) => [from, to]),
    ]).reverse();
  }

  get columns(): number {
    return this.xs.length - 1;
  }

  get rows(): number {
    return this.ys.length - 1;
  }

  holds({ left, right, base, size }: Run): boolean {
    const x = (left + right) / 2;
    const y = base + size * 0.3;
    return (
      x > (this.xs[0] ?? 0) &&
      x < (this.xs.at(-1) ?? 0) &&
      y < (this.ys[0] ?? 0) &&
      y > (this.ys.at(-1) ?? 0)
    );
  }

  columnOf({ left, right }: Run): number {
    const x = (left + right) / 2;
    return Math.max(
      0,
      this.xs.findLastIndex((edge) => edge <= x),
    );
  }

  rowOf({ base, size }: Run): number {
    const y = base + size * 0.3;
    return Math.max(
      0,
      this.ys.findLastIndex((edge) => edge >= y),
    );
  }

  /** Whether a line divides a cell from its left neighbour. */
  isDividedLeft(row: number, column: number): boolean {
    const x = this.xs[column] ?? 0;
    const y = middle(this.ys, row);
    return this.upright.some(({ at, from, to }) => Math.abs(at - x) <= NEAR && from < y && to > y);
  }

  isDividedAbove(row: number, column: number): boolean {
    const y = this.ys[row] ?? 0;
    const x = middle(this.xs, column);
    return this.across.some(({ at, from, to }) => Math.abs(at - y) <= NEAR && from < x && to > x);
  }
}

function gridsOf(rules: readonly Rule[]): Grid[] {
  const merged = [
    ...joinedRules(rules.filter(({ horizontal }) => horizontal)),
    ...joinedRules(rules.filter(({ horizontal }) => !horizontal)),
  ];
  const grids: Grid[] = [];
  const remainingRules = new Set(merged);
  for (const first of merged) {
    if (!remainingRules.delete(first)) continue;
    const group = [first];
    for (const rule of group) {
      const touchingRules = [...remainingRules].filter((other) => meet(rule, other));
      for (const other of touchingRules) remainingRules.delete(other);
      group.push(...touchingRules);
    }
    const grid = new Grid(
      group.filter(({ horizontal }) => horizontal),
      group.filter(({ horizontal }) => !horizontal),
    );
    if (grid.columns > 1 && grid.rows > 0 && grid.columns * grid.rows < CELL_LIMIT)
      grids.push(grid);
  }
  // An outer one first would take the text of those within it.
  return grids.sort((a, b) => areaOf(a) - areaOf(b));
}

function areaOf({ xs, ys }: Grid): number {
  return ((xs.at(-1) ?? 0) - (xs[0] ?? 0)) * ((ys[0] ?? 0) - (ys.at(-1) ?? 0));
}

function meet(one: Rule, other: Rule): boolean {
  if (one.horizontal === other.horizontal) return false;
  return (
    one.at > other.from - NEAR &&
    one.at < other.to + NEAR &&
    other.at > one.from - NEAR &&
    other.at < one.to + NEAR
  );
}

/** Rules of one line as one; all are of one direction. */
export function joinedRules(rules: readonly Rule[]): Rule[] {
  const joined: Rule[] = [];
  const sorted = rules.toSorted((a, b) => a.at - b.at || a.from - b.from);
  for (let start = 0; start < sorted.length;) {
    const at = sorted[start]?.at ?? 0;
    let end = start;
    while (end < sorted.length && (sorted[end]?.at ?? 0) - at <= 1) end += 1;
    let last: Rule | undefined;
    for (const rule of sorted.slice(start, end).sort((a, b) => a.from - b.from)) {
      if (last && rule.from <= last.to + NEAR) {
        last = { ...last, to: Math.max(last.to, rule.to) };
        joined[joined.length - 1] = last;
      } else {
        last = rule;
        joined.push(rule);
      }
    }
    start = end;
  }
  return joined;
}

/** Ascending, without those that are near the one before. */
function distinct(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted.filter((value, index) => index === 0 || value - (sorted[index - 1] ?? 0) > NEAR);
}

function middle(edges: readonly number[], index: number): number {
  return ((edges[index] ?? 0) + (edges[index + 1] ?? 0)) / 2;
}

function tableOf(grid: Grid, runs: readonly Run[]): Table | undefined {
  if (runs.filter((run) => crosses(grid, run)).length > runs.length * 0.1) return undefined;
  const roots = rootsOf(grid);
  const texts = new Map<number, Run[]>();
  for (const run of runs) {
    const root = roots[grid.rowOf(run) * grid.columns + grid.columnOf(run)] ?? 0;
    const cellRuns = texts.get(root);
    if (cellRuns) cellRuns.push(run);
    else texts.set(root, [run]);
  }
  const columns = new Set([...texts.keys()].map((root) => root % grid.columns));
  const rows = new Set([...texts.keys()].map((root) => Math.floor(root / grid.columns)));
  if (columns.size < 2 || rows.size < 2 || isUndivided(grid, texts)) return undefined;
  const cells = new Map([...texts].map(([root, runs]) => [root, cellText(runs)]));
  if ([...cells.values()].some((text) => text.length > CELL_LENGTH)) return undefined;
  return {
    rows: Array.from({ length: grid.rows }, (_, row) =>
      Array.from({ length: grid.columns }, (_, column) => {
        const root = roots[row * grid.columns + column] ?? 0;
        // A cell over several rows belongs to each, one over several columns to the first.
        return root % grid.columns === column ? (cells.get(root) ?? '') : '';
      }),
    ),
    left: grid.xs[0] ?? 0,
    right: grid.xs.at(-1) ?? 0,
    top: grid.ys[0] ?? 0,
    bottom: grid.ys.at(-1) ?? 0,
  };
}

/** Whether text crosses a line between cells, as in a drawing. */
function crosses(grid: Grid, run: Run): boolean {
  const row = grid.rowOf(run);
  return grid.xs.some(
    (x, column) => run.left < x - NEAR && run.right > x + NEAR && grid.isDividedLeft(row, column),
  );
}

/** For each place of the grid, the first place of its cell. */
function rootsOf(grid: Grid): number[] {
  const roots: number[] = [];
  for (let row = 0; row < grid.rows; row += 1) {
    for (let column = 0; column < grid.columns; column += 1) {
      const place = row * grid.columns + column;
      const before = roots[place - 1];
      const above = roots[place - grid.columns];
      if (column > 0 && before !== undefined && !grid.isDividedLeft(row, column)) {
        roots.push(before);
      } else if (row > 0 && above !== undefined && !grid.isDividedAbove(row, column)) {
        roots.push(above);
      } else roots.push(place);
    }
  }
  return roots;
}

/** Whether the lines of text are the rows: few ruled rows with many lines in several of their cells. */
function isUndivided(grid: Grid, texts: ReadonlyMap<number, readonly Run[]>): boolean {
  if (grid.rows > 2) return false;
  const tall = [...texts.values()].filter(
    (runs) => linesOf(segmentsOf(runs)).length > UNDIVIDED_LINES,
  );
  return tall.length > 1;
}

function cellText(runs: readonly Run[]): string {
  return linesOf(segmentsOf(runs))
    .map(({ segments }) => segments.map(({ text }) => text).join(' '))
    .join('\n');
}
