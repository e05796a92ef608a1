// How well PDFs are read, beside pypdf and pdfplumber: npm run bench:parsing -- --python <python with both and reportlab>
// [--files <folder of PDFs>]. docs/KNOWLEDGE.md has the numbers. Without --python it says that it is skipped.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, root } from '../../../scripts/prepare.mjs';

const { values } = parseArgs({
  options: { python: { type: 'string' }, files: { type: 'string' } },
});
const LIMITS = { pages: 5_000, unpackedBytes: 2 ** 30 };
const OUTPUT_BYTES = 2 ** 28;
const LIMIT_MS = 10 * 60_000;

if (values.python === undefined) {
  console.log(
    'Skipped: name a Python that has pypdf, pdfplumber and reportlab (pip install in a virtual environment): npm run bench:parsing -- --python <path>',
  );
} else {
  await build();
  const reader = join(root, 'dist', 'src', 'attach', 'parser', 'format', 'pdf.format.js');
  const { readPdf } = await import(reader);
  const folder = mkdtempSync(join(tmpdir(), 'plinth-parsing-'));
  try {
    await compareMade(readPdf, folder);
    if (values.files !== undefined) await compareFiles(readPdf, values.files);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function compareMade(readPdf, folder) {
  python('make.py', [folder]);
  const documents = JSON.parse(readFileSync(join(folder, 'truth.json'), 'utf8'));
  const readers = await readAll(
    readPdf,
    documents.map(({ file }) => file),
  );
  console.log(
    `${'document'.padEnd(26)}${'reader'.padEnd(12)}words  order  rows   running  pages/s`,
  );
  documents.forEach((document, index) => {
    for (const [name, answers] of readers) print(document, name, answers[index]);
  });
}

function print(document, reader, { text, rows = [], pages, seconds, error }) {
  const line = `${document.name.padEnd(26)}${reader.padEnd(12)}`;
  if (error !== undefined) {
    console.log(`${line}failed: ${error}`);
    return;
  }
  const found = wordsOf(text);
  const said = document.words.map((word) => word.normalize('NFKC'));
  const order = document.rows ? undefined : shareOf(pairsOf(said), pairsOf(found));
  const right = document.rows && rowsFound(document.rows, [found, wordsOf(rows.join('\n'))]);
  const running = document.running && runningLeft(document, text);
  const cells = [shareOf(said, found), order, right, running].map(percent);
  console.log(`${line}${cells.join('  ')}     ${(pages / seconds).toFixed(0).padStart(5)}`);
}

/** Public files have no truth: the words that both others find are what is expected. */
async function compareFiles(readPdf, folder) {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.toLowerCase().endsWith('.pdf'))
    .map((name) => join(folder, name));
  const readers = await readAll(readPdf, files);
  const [ours, pypdf, pdfplumber] = [...readers.values()];
  console.log(`\n${'file'.padEnd(40)}words of both  pages/s`);
  files.forEach((file, index) => {
    const [mine, one, other] = [ours[index], pypdf[index], pdfplumber[index]];
    const name = file.slice(folder.length + 1).padEnd(40);
    if (mine.error !== undefined || one.error !== undefined || other.error !== undefined) {
      console.log(`${name}Plinth: ${mine.error ?? 'read'}; pypdf: ${one.error ?? 'read'}`);
      return;
    }
    const shared = common(wordsOf(one.text), wordsOf(other.text));
    const speed = (mine.pages / mine.seconds).toFixed(0).padStart(6);
    console.log(`${name}${percent(shareOf(shared, wordsOf(mine.text)))}        ${speed}`);
  });
}

async function readAll(readPdf, files) {
  const ours = [];
  // Once before it is measured: the first document loads the reader.
  if (files[0] !== undefined) await readOne(readPdf, files[0]);
  for (const file of files) ours.push(await readOne(readPdf, file));
  const others = ['pypdf', 'pdfplumber'].map((name) => [
    name,
    python('read.py', [name, ...files])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ]);
  return new Map([['Plinth', ours], ...others]);
}

async function readOne(readPdf, file) {
  const start = performance.now();
  try {
    const { source, pages } = await readPdf(readFileSync(file), LIMITS);
    return { text: source.text, pages, seconds: (performance.now() - start) / 1_000 };
  } catch (error) {
    return { error: error.message.slice(0, 200) };
  }
}

function python(script, args) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return execFileSync(values.python, [path, ...args], {
    encoding: 'utf8',
    maxBuffer: OUTPUT_BYTES,
    timeout: LIMIT_MS,
    stdio: ['ignore', 'pipe', 'ignore'],
  });
}

function wordsOf(text) {
  return text.normalize('NFKC').match(/[\p{L}\p{M}\p{N}]+(?:-[\p{L}\p{M}\p{N}]+)*/gu) ?? [];
}

function pairsOf(words) {
  return words.slice(1).map((word, index) => `${words[index]} ${word}`);
}

/** Of the expected items those that were found, each as often as it is expected. */
function shareOf(expected, found) {
  return expected.length === 0 ? 1 : common(expected, found).length / expected.length;
}

function common(expected, found) {
  const left = new Map();
  for (const item of found) left.set(item, (left.get(item) ?? 0) + 1);
  return expected.filter((item) => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count > 0;
  });
}

/** Rows whose words follow each other, from the first cell to the last. */
function rowsFound(rows, texts) {
  const streams = texts.map((words) => ` ${words.join(' ')} `);
  const found = rows.filter((cells) => {
    const row = ` ${wordsOf(cells.join(' ')).join(' ')} `;
    return streams.some((stream) => stream.includes(row));
  });
  return found.length / rows.length;
}

/** Share of the headers and footers that are in the text more than once; numbers of pages are one line. */
function runningLeft({ running, pages }, text) {
  const words = wordsOf(text).join(' ');
  const repeats = running.map((line) => {
    const found = new RegExp(`(?<!\\S)${line.replace('{page}', '\\d+')}(?!\\S)`, 'g');
    return Math.max(0, (words.match(found)?.length ?? 0) - 1) / (pages - 1);
  });
  return repeats.reduce((sum, share) => sum + share, 0) / running.length;
}

function percent(share) {
  return (share === undefined ? '-' : `${(share * 100).toFixed(1)}`).padStart(5);
}
