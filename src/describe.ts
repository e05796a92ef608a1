import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describeApi } from './app.js';
import { loadConfig } from './platform/config/index.js';

// Writes the OpenAPI document to the file that the argument names. The build makes the client package from it.
const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('Name the file: node dist/src/describe.js dist/openapi.json\n');
  process.exit(2);
}
const dataDir = mkdtempSync(join(tmpdir(), 'plinth-describe-'));
try {
  const config = loadConfig({ DATA_DIR: dataDir, DEMO: 'off', LOG_LEVEL: 'silent' });
  writeFileSync(file, JSON.stringify(await describeApi(config)));
} finally {
  rmSync(dataDir, { recursive: true, force: true });
}
