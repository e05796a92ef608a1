// Makes src/generated from the OpenAPI document that the argument names.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import { clientDocument } from './document.mjs';

const [file] = process.argv.slice(2);
const folder = join(import.meta.dirname, 'src', 'generated');
await createClient({
  input: clientDocument(JSON.parse(readFileSync(file, 'utf8'))),
  output: {
    path: folder,
    module: { extension: '.js' },
    postProcess: [],
  },
  logs: { level: 'warn', file: false },
  plugins: [
    { name: '@hey-api/typescript' },
    { name: '@hey-api/sdk', responseStyle: 'data', paramsStructure: 'grouped' },
    {
      name: '@hey-api/client-fetch',
      throwOnError: true,
      bundle: true,
      runtimeConfigPath: '../runtime.js',
    },
  ],
});

// The runtime answers a file with its name.
const types = join(folder, 'types.gen.ts');
const text = readFileSync(types, 'utf8');
writeFileSync(types, text.replaceAll(/^( {4}200: .*)\bBlob \| File;$/gm, '$1File;'));
