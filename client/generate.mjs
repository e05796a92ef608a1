// Makes src/generated from the OpenAPI document that the argument names.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient } from '@hey-api/openapi-ts';
import { clientDocument } from './document.mjs';

const [file] = process.argv.slice(2);
const folder = join(import.meta.dirname, 'src', 'generated');
const document = clientDocument(JSON.parse(readFileSync(file, 'utf8')));
await createClient({
  input: document,
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

// The settings of a record are a table of what each form field needs: its kind, its limits and its section.
const tables = Object.entries(document.components.schemas).flatMap(
  ([name, { properties = {} }]) => {
    const settings = Object.entries(properties).filter(([, property]) => property['x-setting']);
    if (settings.length === 0) return [];
    const table = Object.fromEntries(
      settings.map(([setting, property]) => [setting, property['x-setting']]),
    );
    const constant = `${name[0].toLowerCase()}${name.slice(1).replace(/View$/, '')}Settings`;
    return [`export const ${constant} = ${JSON.stringify(table, null, 2)} as const;\n`];
  },
);
writeFileSync(join(folder, 'settings.gen.ts'), tables.join('\n'));
