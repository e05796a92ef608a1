import { expect, it } from '@jest/globals';
import { catalogueOf } from './model.catalogue.js';

it.each([
  ['https://api.openai.com/v1', 'custom_api', 'gpt-4.1-mini'],
  ['https://gateway.test/v1', 'openai', 'gpt-4.1-mini'],
  ['https://api.anthropic.com/v1', 'anthropic', 'claude-sonnet-4-5-20250929'],
  ['https://gateway.test/v1', 'moonshot', 'kimi-k2-thinking'],
  ['https://gateway.test/v1', 'gemini', 'gemini-2.5-flash'],
  ['https://gateway.test/v1', 'xai', 'grok-4'],
  ['https://api.groq.com/openai/v1', 'groq', 'openai/gpt-oss-120b'],
  ['https://api.deepseek.com', 'deepseek', 'deepseek-v4-flash'],
])('at %s of %s the model %s has a price', async (address, code, name) => {
  const { inputPrice = 0, outputPrice = 0 } = (await catalogueOf(address, code))(name);
  expect(inputPrice).toBeGreaterThan(0);
  expect(outputPrice).toBeGreaterThan(inputPrice);
});

it('of a service that nobody publishes, a model has its window alone', async () => {
  const lookup = await catalogueOf('http://127.0.0.1:8000/v1', 'custom_api');
  expect(lookup('gpt-4.1-mini')).toEqual({ contextWindow: expect.any(Number) });
  expect(lookup('nobody-knows')).toEqual({});
});

it('has prices in tiers, of caches and of tools of the service, with their source', async () => {
  const lookup = await catalogueOf('https://api.anthropic.com', 'anthropic');
  expect(lookup('claude-sonnet-4-5')).toMatchObject({
    inputPrice: 3,
    outputPrice: 15,
    cachedInputPrice: 0.3,
    cacheWritePrice: 3.75,
    cacheWriteHourPrice: 6,
    webSearchPrice: 0.01,
    contextTiers: [
      {
        above: 200_000,
        inputPrice: 6,
        outputPrice: 22.5,
        cachedInputPrice: 0.6,
        cacheWritePrice: 7.5,
        cacheWriteHourPrice: 12,
      },
    ],
    priceSource: expect.stringContaining('genai-prices'),
  });
});
