import { expect, test } from '@jest/globals';
import { ModelAdapters } from './model.adapters.js';
import { ModelService } from './model.service.js';

interface Preset {
  readonly code: string;
  readonly defaultAddress?: string;
}

const registryOf = (...presets: Preset[]): never => {
  const byCode = new Map(presets.map((preset) => [preset.code, { label: 'Label', ...preset }]));
  return {
    has: (code: string) => byCode.has(code),
    get: (code: string) => byCode.get(code),
    codes: () => [...byCode.keys()],
  } as never;
};

const HOSTED = { code: 'hosted', defaultAddress: 'https://api.hosted.test/v1' };
const adapters = new ModelAdapters(
  registryOf(HOSTED, { code: 'mixed' }),
  registryOf({ code: 'own' }),
  registryOf(),
  registryOf(
    { code: 'mixed', defaultAddress: 'https://media.test' },
    { code: 'operated', defaultAddress: '' },
  ),
);

test.each([
  ['chat', 'hosted', 'https://api.hosted.test/v1'],
  ['vector', 'hosted', 'https://api.hosted.test/v1'],
  ['music', 'operated', ''],
  ['image', 'operated', ''],
  ['chat', 'mixed', undefined],
  ['video', 'mixed', 'https://media.test'],
  ['vector', 'own', undefined],
  ['chat', 'unknown', undefined],
])('a %s model of %s without apiHost is called at %j', async (category, providerCode, address) => {
  expect(adapters.defaultAddress(category, providerCode)).toBe(address);
  const providers = { requireEnabled: () => Promise.resolve(), join: () => undefined } as never;
  const unused = {} as never;
  const models = new ModelService(
    unused,
    unused,
    providers,
    adapters,
    unused,
    unused,
    unused,
    unused,
    unused,
    unused,
  );
  const fields = { category, providerCode, modelDimension: 8, apiHost: '' };
  const checked = models
    .check('000000', fields)
    .catch((error: unknown) => (error as Error).message);
  const refusal =
    address === undefined ? expect.stringMatching(/^apiHost must not be empty/) : undefined;
  expect(await checked).toEqual(refusal);
});
