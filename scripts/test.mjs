import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { servers } from '../test/places.mjs';
import { run } from './launch.mjs';
import { build, install, node, root } from './prepare.mjs';

// Arguments go to Jest: `npm test -- path`. docs/TESTING.md says how the tests run.
install();
await build();

const folder = mkdtempSync(join(tmpdir(), 'plinth-counts-'));
const file = join(folder, 'totals');
const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
const code = await run(node, [jest, ...process.argv.slice(2)], {
  ...process.env,
  PLINTH_TEST_COUNTS: file,
});
const counts = readCounts();
rmSync(folder, { recursive: true, force: true });

console.log('');
for (const { variable, without } of servers) {
  if (!process.env[variable]) console.log(`${variable} is not set: the tests used ${without}.`);
}
if (counts.skipped > 0) console.log(`Skipped: ${counts.skipped} single tests.`);
for (const path of counts.unmatched) console.log(`No test file has "${path}" in its path.`);
console.log(`${counts.passed} passed, ${counts.failed} failed`);
process.exitCode = counts.unmatched.length > 0 ? 1 : code;

/** A run that ended before its reporter could write, or that found no test file, counts as one failure. */
function readCounts() {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0, unmatched: [] };
  }
}
