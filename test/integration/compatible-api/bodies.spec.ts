import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import OpenAI from 'openai';
import { makeKey, withKey } from '../../support/api-keys.js';
import { closeCompatibleApi, failureOf, openCompatibleApi } from '../../support/compatible-api.js';
import type { CompatibleApi } from '../../support/compatible-api.js';
import type { Session } from '../../support/session.js';

let world: CompatibleApi;
let program: Session;
let client: OpenAI;

beforeAll(async () => {
  world = await openCompatibleApi();
  const made = await makeKey(world.admin, { permissions: ['chat:chat:use'] });
  program = withKey(world.admin, made);
  client = new OpenAI({ baseURL: `${world.plinth.url}/v1`, apiKey: made.key, maxRetries: 0 });
});

afterEach(() => world.simulator.reset());
afterAll(() => closeCompatibleApi(world));

/** A schema of lists of lists, so many levels deep. */
function schemaOf(levels: number): Record<string, unknown> {
  return levels === 1 ? { type: 'string' } : { type: 'array', items: schemaOf(levels - 1) };
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}

function asked(model: string, depth: number): OpenAI.ChatCompletionCreateParamsNonStreaming {
  // The body, tools, its entry, the function and the schema of its arguments are five levels.
  const parameters = { type: 'object', items: schemaOf(depth - 5) };
  return {
    model,
    messages: [{ role: 'user', content: 'Hello' }],
    tools: [{ type: 'function', function: { name: 'deep', parameters } }],
  };
}

describe('a body', () => {
  it.each(['sim-chat', 'sim-messages', 'sim-ollama'])(
    'of %s may nest 64 levels deep, and no deeper',
    async (model) => {
      world.simulator.script({ text: 'Yes.' });
      const deep = asked(model, 64);
      expect(depthOf(deep)).toBe(64);
      const answer = await client.chat.completions.create(deep);
      expect(answer.choices[0]?.message.content).toBe('Yes.');
      expect(depthOf(world.simulator.requests[0]?.body)).toBeGreaterThan(60);

      const deeper = asked(model, 65);
      expect(depthOf(deeper)).toBe(65);
      const refused = await failureOf(OpenAI.APIError, client.chat.completions.create(deeper));
      expect([refused.status, refused.type]).toEqual([400, 'invalid_request_error']);
      expect(refused.message).toContain('nested more than 64 levels deep');
      expect(world.simulator.requests).toHaveLength(1);
    },
  );

  it('that nests a hundred thousand levels is refused by every interface', async () => {
    const nested = `${'{"a":'.repeat(100_000)}{}${'}'.repeat(100_000)}`;
    for (const path of ['/v1/messages', '/v1/chat/completions', '/v1/embeddings', '/chat/send']) {
      const { status, text } = await program.raw('POST', path, nested);
      expect([path, status, text]).toEqual([
        path,
        path === '/chat/send' ? 200 : 400,
        expect.stringContaining('nested more than 64 levels deep'),
      ]);
    }
  });
});
