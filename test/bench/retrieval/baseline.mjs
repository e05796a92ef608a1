import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { tmpdir } from 'node:os';
import { dataFolder } from './dataset.mjs';

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
 * nDCG@10 of an independent BM25 by test set, in a virtual environment that this makes in a folder outside the
 * repository (BASELINE_VENV). Where Python or the packages are not available, it says so and answers nothing.
 */
export function measureBaseline(names) {
  const sets = names.filter((name) => LANGUAGES[name]);
  const folder = process.env.BASELINE_VENV ?? join(tmpdir(), 'plinth-bm25s');
  const python = join(folder, 'bin', 'python');
  try {
    if (!existsSync(python)) run('python3', ['-m', 'venv', folder]);
    run(python, ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...PACKAGES]);
    const program = fileURLToPath(new URL('baseline.py', import.meta.url));
    const pairs = sets.map((name) => `${name}=${LANGUAGES[name]}`);
    return JSON.parse(run(python, [program, dataFolder, ...pairs]));
  } catch (error) {
    console.log(`The independent BM25 is skipped: ${error.message}`);
    return {};
  }
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
