// Makes plinth/generated from the OpenAPI document, by openapi-python-client of the Python that the second argument names.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clientDocument } from '../document.mjs';

const [file, python = 'python3'] = process.argv.slice(2);
const document = clientDocument(JSON.parse(readFileSync(file, 'utf8')));

// The generator knows one type of bytes.
for (const operations of Object.values(document.paths)) {
  for (const { responses } of Object.values(operations)) {
    for (const response of Object.values(responses)) {
      const { content = {} } = response;
      const isFile = Object.values(content).some(({ schema }) => schema?.format === 'binary');
      if (isFile) {
        response.content = { 'application/octet-stream': Object.values(content)[0] };
      }
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), 'plinth-python-'));
try {
  const input = join(folder, 'openapi.json');
  writeFileSync(input, JSON.stringify(document));
  const output = join(import.meta.dirname, 'plinth', 'generated');
  const run = ['-m', 'openapi_python_client', 'generate', '--path', input];
  const { status, stderr } = spawnSync(
    python,
    [...run, '--output-path', output, '--meta', 'none', '--overwrite'],
    { stdio: ['ignore', 'ignore', 'pipe'], encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(`openapi-python-client has failed: ${stderr}`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
