import { spawnSync } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { SourceDocument } from '../../../src/fragment/splitter/index.js';
import { runProgram } from '../programs.js';

/** Readers of other people, which the Python that PLINTH_PYTHON names may have (docs/TESTING.md). */
const READERS = ['pypdf', 'pdfplumber'] as const;

/** A line on so many pages may be a running one, which is kept once. */
const RUNNING_PAGES = 3;

const python = process.env['PLINTH_PYTHON'] ?? '';

/** Whether the other readers are here; where not, says so in a line. */
export function havePdfReaders(): boolean {
  const imported =
    python !== '' && spawnSync(python, ['-c', `import ${READERS.join(', ')}`]).status === 0;
  if (!imported) {
    process.stdout.write('Skipped: PLINTH_PYTHON names no Python with pypdf and pdfplumber.\n');
  }
  return imported;
}

interface ReadPdf {
  readonly bytes: Buffer;
  readonly source: Pick<SourceDocument, 'text'> & Partial<Pick<SourceDocument, 'blocks'>>;
}

/** The PDFs that a suite has read, with what it has read. */
export class PdfWords {
  private readonly read: ReadPdf[] = [];

  get count(): number {
    return this.read.length;
  }

  /** Without those that say otherwise what is to be read: of their words some are rightly missing. */
  add(bytes: Buffer, source: ReadPdf['source']): void {
    if (!/\/OCProperties|\/ActualText/.test(bytes.toString('latin1')))
      this.read.push({ bytes, source });
  }

  /** By document the words that both other readers find and Plinth does not, each as often as it is missing. */
  async missing(): Promise<Record<string, readonly string[]>> {
    const folder = await mkdtemp(join(tmpdir(), 'plinth-words-'));
    try {
      const files = await Promise.all(
        this.read.map(async ({ bytes }, index) => {
          const file = join(folder, `${index}.pdf`);
          await writeFile(file, bytes);
          return file;
        }),
      );
      const texts = await Promise.all(READERS.map((reader) => textsOf(reader, files)));
      const missing = this.read.map(({ source }, index): [string, readonly string[]] => [
        source.text.slice(0, 60),
        missingFrom(
          source,
          texts.map((found) => found[index] ?? ''),
        ),
      ]);
      return Object.fromEntries(missing.filter(([, words]) => words.length > 0));
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** The pages of each file behind form feeds; nothing of a file that the reader refuses. */
async function textsOf(reader: string, files: readonly string[]): Promise<string[]> {
  const script = resolve('test/bench/parsing/read.py');
  const printed = await runProgram([python, script, reader, ...files], {});
  return printed
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { text?: string }).text ?? '');
}

function missingFrom(
  { text, blocks = [] }: ReadPdf['source'],
  others: readonly string[],
): string[] {
  const found = countOf(wordsOf(text));
  const heads = blocks
    .filter(({ type }) => type === 'table-header')
    .map(({ start, end }) => wordsOf(text.slice(start, end)).join(' '));
  const [first, second] = others.map((other) => countOf(expectedOf(other, found, heads)));
  return [...(first ?? [])].flatMap(([word, count]) => {
    const expected = Math.min(count, second?.get(word) ?? 0);
    return Array.from({ length: Math.max(0, expected - (found.get(word) ?? 0)) }, () => word);
  });
}

/** The words of a text; those of lines that are kept once, once. */
function expectedOf(
  text: string,
  found: ReadonlyMap<string, number>,
  heads: readonly string[],
): string[] {
  const joined = text.replace(
    /([\p{L}\p{M}]+)[-\u2010][\n\f]([\p{L}\p{M}]+)/gu,
    (halves, head: string, tail: string) =>
      found.has(`${head}${tail}`) ? `${head}${tail}` : halves,
  );
  const pages = joined.split('\f').map((page) => page.split('\n'));
  const counts = countOf(pages.flatMap((lines) => [...new Set(lines.map(withoutNumbers))]));
  const once = new Set<string>();
  return pages.flat().flatMap((line) => {
    const key = withoutNumbers(line);
    const words = wordsOf(line);
    const isKeptOnce = (counts.get(key) ?? 0) >= RUNNING_PAGES || heads.includes(words.join(' '));
    if (isKeptOnce && once.has(key)) return [];
    once.add(key);
    return words;
  });
}

function withoutNumbers(line: string): string {
  return line.trim().replace(/\p{Nd}+|\b[ivxlc]+\b/gu, '#');
}

function wordsOf(text: string): string[] {
  return text.normalize('NFKC').match(/[\p{L}\p{M}\p{N}]+/gu) ?? [];
}

function countOf(items: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const item of items) counts.set(item, (counts.get(item) ?? 0) + 1);
  return counts;
}
