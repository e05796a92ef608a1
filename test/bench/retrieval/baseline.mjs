import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpdir } from 'node:os';
import { dataFolder, readDataset } from './dataset.mjs';

const PACKAGES = ['bm25s==0.3.16', 'PyStemmer==3.1.0'];
const LIMIT_MS = 5 * 60_000;

/** Snowball languages of the test sets. Chinese has none: the baseline has no words for it. */
const LANGUAGES = {
  cacm: 'english',
  cisi: 'english',
  cranfield: 'english',
  med: 'english',
  'xquad-de': 'german',
  'xquad-en': 'english',
  'xquad-es': 'spanish',
  'xquad-ro': 'romanian',
};

/**
 * nDCG@10 of an independent BM25 by test set, with the stop words of Plinth, in a virtual environment that this makes in a
 * folder outside the repository (BASELINE_VENV). Where Python or the packages are not available, it says so and answers
 * nothing.
 */
export async function measureBaseline(app, names) {
  const sets = names.filter((name) => LANGUAGES[name]);
  const folder = process.env.BASELINE_VENV ?? join(tmpdir(), 'plinth-bm25s');
  const python = join(folder, 'bin', 'python');
  const scratch = mkdtempSync(join(tmpdir(), 'plinth-baseline-'));
  try {
    if (!existsSync(python)) run('python3', ['-m', 'venv', folder]);
    run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
    const stopWords = join(scratch, 'stop-words.json');
    const words = await Promise.all(sets.map((name) => stopWordsOf(app, name)));
    writeFileSync(
      stopWords,
      JSON.stringify(Object.fromEntries(sets.map((name, at) => [name, words[at]]))),
    );
    const program = fileURLToPath(new URL('baseline.py', import.meta.url));
    const pairs = sets.map((name) => `${name}=${LANGUAGES[name]}`);
    return JSON.parse(run(python, [program, dataFolder, stopWords, ...pairs]));
  } catch (error) {
    console.log(`The independent BM25 is skipped: ${error.message}`);
    return {};
  } finally {
    rmSync(scratch, { recursive: true });
  }
}

/** The words of a test set that Plinth leaves out: PostgreSQL's dictionary of its language has no stem for them. */
async function stopWordsOf(app, name) {
  const { Database } = await import('../../../dist/src/platform/database/index.js');
  const { documents, queries } = readDataset(name);
  const text = [...documents, ...queries].map((one) => one.text).join('\n');
  const words = new Set(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu));
  const rows = await app.get(Database).query(
    `SELECT word FROM unnest($1::text[]) AS word
      WHERE ts_lexize($2::regdictionary, word) = '{}'::text[]`,
    [[...words], `${LANGUAGES[name]}_stem`],
  );
  return rows.map(({ word }) => word);
}

function run(program, args) {
  const { status, stdout, stderr, error } = spawnSync(program, args, {
    encoding: 'utf8',
    timeout: LIMIT_MS,
  });
  if (error) throw error;
  if (status === 0) return stdout;
  const reason = stderr.trim().split('\n').at(-1) ?? '';
  throw new Error(`${program} ended with code ${status}. ${reason}`);
}
