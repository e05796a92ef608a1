import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { MAX_OFFERED_MODELS, toOfferedModels } from './model-list.js';

/** Lists as the references of the services show them, each with what is read from it. */
const lists = JSON.parse(
  readFileSync(new URL('model-list/fixtures/lists.json', import.meta.url), 'utf8'),
) as Record<
  string,
  { readonly source: string; readonly answer: unknown; readonly models: unknown }
>;

describe('the list of', () => {
  it.each(Object.entries(lists))('%s is read', (_service, { answer, models }) => {
    expect(toOfferedModels(answer)).toEqual(models);
  });
});

describe('a list of models', () => {
  it.each([[null], ['text'], [{}], [{ data: {} }], [{ object: 'error', message: 'no' }]])(
    'is not %j',
    (answer) => {
      expect(() => toOfferedModels(answer)).toThrow('without a list of models');
    },
  );

  it('is cut, and what has no id is passed over', () => {
    const ids = Array.from({ length: MAX_OFFERED_MODELS + 1 }, (_, at) => ({ id: `m-${at}` }));
    const models = toOfferedModels({ data: [{}, null, { id: ' ' }, { id: 'm-0' }, ...ids] });
    expect(models).toHaveLength(MAX_OFFERED_MODELS);
    expect(models[1]).toEqual({ id: 'm-1' });
  });

  it('has no price that cannot be one', () => {
    const pricing = { prompt: '-1', completion: 'free', input_cache_read: '' };
    expect(toOfferedModels([{ id: 'openrouter/auto', pricing }])).toEqual([
      { id: 'openrouter/auto' },
    ]);
  });
});
