// How well documents are read beside other readers. docs/KNOWLEDGE.md has the numbers.
//   PDFs:         npm run bench:parsing -- --python <with pypdf, pdfplumber and reportlab> [--files <folder of PDFs>]
//   Office files: npm run bench:parsing -- --python <with python-docx, openpyxl and python-pptx> --office <folder>
//                 [--docling <Python with docling>] [--kreuzberg <Python with kreuzberg>]
// Without --python it says that it is skipped.
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build, root } from '../../../scripts/prepare.mjs';

const { values } = parseArgs({
  options: {
    python: { type: 'string' },
    files: { type: 'string' },
    office: { type: 'string' },
    docling: { type: 'string' },
    kreuzberg: { type: 'string' },
  },
});
const LIMITS = { pages: 5_000, unpackedBytes: 2 ** 30 };
const OUTPUT_BYTES = 2 ** 28;
/** What Plinth reads of the formats of offices. */
const OFFICE_FILES =
  /\.(?:doc|docx|docm|dotx|xls|xlsx|xlsm|xlsb|ppt|pptx|ppsx|rtf|msg|odt|ods|odp)$/i;
const LIMIT_MS = 10 * 60_000;

if (values.python === undefined) {
  console.log(
    'Skipped: name a Python that has pypdf, pdfplumber and reportlab, or python-docx, openpyxl and python-pptx (pip install in a virtual environment): npm run bench:parsing -- --python <path> [--office <folder>]',
  );
} else if (values.office !== undefined) {
  await build();
  await compareOffice(values.office);
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

/** Of each format the words of all files that another reader finds and Plinth does, too, and the other way round. */
async function compareOffice(folder) {
  const reader = join(root, 'dist', 'src', 'attach', 'parser', 'format', 'read-document.js');
  const { readDocument } = await import(reader);
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => OFFICE_FILES.test(name))
    .map((name) => join(folder, name));
  if (files.length === 0) throw new Error(`${folder} holds no Office files.`);
  const read = (bytes, limits, file) => readDocument({ bytes, name: file }, limits);
  const ours = [];
  for (const file of files) ours.push(await readOne(read, file));
  const others = [['python', values.python]];
  if (values.docling !== undefined) others.push(['docling', values.docling]);
  if (values.kreuzberg !== undefined) others.push(['kreuzberg', values.kreuzberg]);
  console.log(
    'format  reader      files  both failed other failed  its words here  our words there',
  );
  for (const [name, program] of others) {
    const theirs = python('read_office.py', [name, ...files], program)
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    printOffice(name, files, ours, theirs);
  }
}

function printOffice(name, files, ours, theirs) {
  const formats = new Map();
  files.forEach((file, index) => {
    const format = file.toLowerCase().replace(/.*\./, '');
    formats.set(format, [...(formats.get(format) ?? []), index]);
  });
  for (const [format, indexes] of [...formats].sort()) {
    const ourFailures = indexes.filter((index) => ours[index].error !== undefined);
    const theirFailures = indexes.filter((index) => theirs[index].error !== undefined);
    const both = indexes.filter(
      (index) => !ourFailures.includes(index) && !theirFailures.includes(index),
    );
    const words = (answers) => both.map((index) => wordsOf(answers[index].text));
    const [mine, other] = [words(ours), words(theirs)];
    const share = (expected, found) => {
      const total = expected.reduce((sum, { length }) => sum + length, 0);
      const shared = expected.reduce(
        (sum, list, index) => sum + common(list, found[index]).length,
        0,
      );
      return total === 0 ? undefined : shared / total;
    };
    console.log(
      [
        format.padEnd(8) + name.padEnd(12),
        String(indexes.length).padStart(5),
        String(ourFailures.length).padStart(13),
        String(theirFailures.length).padStart(12),
        percent(share(other, mine)).padStart(16),
        percent(share(mine, other)).padStart(16),
      ].join(''),
    );
    for (const [index, list] of other.entries()) {
      const part = shareOf(list, mine[index]);
      if (part >= 0.99) continue;
      const missing = missingOf(list, mine[index]).slice(0, 8).join(' ');
      console.log(`  ${files[both[index]]}: ${percent(part)}, missing: ${missing}`);
    }
    for (const index of ourFailures) console.log(`  ${files[index]}: ${ours[index].error}`);
  }
}

function missingOf(expected, found) {
  const left = new Map();
  for (const item of found) left.set(item, (left.get(item) ?? 0) + 1);
  return expected.filter((item) => {
    const count = left.get(item) ?? 0;
    left.set(item, count - 1);
    return count <= 0;
  });
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
  const read = (bytes, limits) => readPdf(bytes, limits);
  if (files[0] !== undefined) await readOne(read, files[0]);
  for (const file of files) ours.push(await readOne(read, file));
  const others = ['pypdf', 'pdfplumber'].map((name) => [
    name,
    python('read.py', [name, ...files])
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line)),
  ]);
  return new Map([['Plinth', ours], ...others]);
}

async function readOne(read, file) {
  const start = performance.now();
  try {
    const { source, pages } = await read(readFileSync(file), LIMITS, file);
    return { text: source.text, pages, seconds: (performance.now() - start) / 1_000 };
  } catch (error) {
    // A blank document is read, although it is refused.
    if (/holds no text/.test(error.message)) return { text: '', pages: 0, seconds: 1 };
    return { error: error.message.slice(0, 200) };
  }
}

function python(script, args, program = values.python) {
  const path = fileURLToPath(new URL(script, import.meta.url));
  return execFileSync(program, [path, ...args], {
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
