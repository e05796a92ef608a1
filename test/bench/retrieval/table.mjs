import { ALPHAS, DEPTHS, THRESHOLDS } from './fusion.mjs';

const NONE = '–';
const score = (name) => (row) => row[name]?.toFixed(3) ?? NONE;
const count = (name) => (row) => (row[name] === undefined ? NONE : String(row[name]));

/** Head and cell of each column; a row has what was measured of one test set on one store. */
const columns = [
  ['Store', ({ store }) => store],
  ['Set', ({ set }) => set],
  ['Questions', count('queries')],
  ['Keyword', score('keyword')],
  ['BM25', score('bm25')],
  ['Vector', score('vector')],
  ...ALPHAS.map((alpha) => [`α ${alpha}`, score(`alpha ${alpha}`)]),
  ['Least / better', (row) => leastPart(row)?.toFixed(3) ?? NONE],
  ...DEPTHS.map((depth) => [`Depth ${depth}`, score(`depth ${depth}`)]),
  ...THRESHOLDS.flatMap((threshold) => [
    [`Vector ≥ ${threshold}`, score(`vector ${threshold}`)],
    [`None ≥ ${threshold}`, count(`empty ${threshold}`)],
    [`Hidden ≥ ${threshold}`, count(`hidden ${threshold}`)],
    [`Hybrid ≥ ${threshold}`, score(`threshold ${threshold}`)],
  ]),
];

/** The least of hybrid search at all alphas, as a part of the better channel alone. */
export function leastPart(row) {
  if (row.vector === undefined) return undefined;
  const least = Math.min(...ALPHAS.map((alpha) => row[`alpha ${alpha}`]));
  return least / Math.max(row.keyword, row.vector);
}

/** The rows as a table in Markdown, in columns of equal width. */
export function tableOf(rows) {
  const heads = columns.map(([head]) => head);
  const cells = rows.map((row) => columns.map(([, cell]) => cell(row)));
  const widths = heads.map((head, at) =>
    Math.max(...[head, ...cells.map((row) => row[at])].map((text) => text.length)),
  );
  const line = (texts) => `| ${texts.map((text, at) => text.padEnd(widths[at])).join(' | ')} |`;
  return [line(heads), line(widths.map((width) => '-'.repeat(width))), ...cells.map(line)].join(
    '\n',
  );
}
