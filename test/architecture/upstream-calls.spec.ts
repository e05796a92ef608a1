import { globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it } from '@jest/globals';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** Uses of a method of an adapter that calls a model service, whichever way the adapter is named. */
const CALL =
  /adapters?(?:\.\w+)?(?:\.get\([^)]*\))?\s*\??\.\s*(stream|complete|embed|listModels|rerank|relay|relayStream|image|speech|video|lookUpVideo|lookUpPrediction)\b\s*(?:\?\.)?\(/gi;

/** The seam, and the functions that MediaService gives to it. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  'model/calls/upstream.calls.ts': [
    'complete',
    'embed',
    'listModels',
    'relay',
    'relayStream',
    'rerank',
    'stream',
  ],
  'media/media.service.ts': ['image', 'lookUpPrediction', 'lookUpVideo', 'speech', 'video'],
};

it('calls model services in one place, so that every call is counted and recorded', () => {
  const found: Record<string, readonly string[]> = {};
  for (const file of globSync('**/*.ts', { cwd: source })) {
    if (file.endsWith('.spec.ts') || file.startsWith('provider/adapter/')) continue;
    const text = readFileSync(source + file, 'utf8');
    const methods = [...text.matchAll(CALL)].map(([, method]) => method ?? '');
    if (methods.length > 0) found[file] = [...new Set(methods)].sort();
  }
  expect(found).toEqual(ALLOWED);
});
