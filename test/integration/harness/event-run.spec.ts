import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { startHarness } from '../../support/harness.js';
import type { Harness } from '../../support/harness.js';
import type { RunEvent } from '../../support/harness-stream.js';

/** Lone surrogates have no UTF-8 form, so no provider can send them; NUL is what PostgreSQL cannot hold. */
const anyText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 3_000 })
  .map((text) => text.replaceAll('\0', ''))
  .filter((text) => text.trim() !== '');

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness();
});

afterAll(() => harness.stop());

function joined(events: readonly RunEvent[], type: string): string {
  return events
    .filter((event) => event.type === type)
    .map(({ data }) => String(data['delta']))
    .join('');
}

describe('the deltas of a run', () => {
  it('put together are the text of assistant.completed and of the message, for any text in any chunks', async () => {
    const { sessionId } = await harness.createSession({ permissionMode: 'READ_ONLY' });
    await fc.assert(
      fc.asyncProperty(anyText, anyText, fc.boolean(), async (text, reasoning, byteSplit) => {
        harness.script({ text, reasoning, byteSplit });
        const run = await harness.createRun(sessionId);
        const stream = await harness.sse(run);
        const events = await stream.rest();

        expect(events.at(-1)?.type).toBe('run.completed');
        expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, index) => index + 1));
        const completed = events.find(({ type }) => type === 'assistant.completed');
        expect(joined(events, 'assistant.text.delta')).toBe(completed?.data['text']);
        const messages = await harness.messages(run);
        const answer = messages.find(
          ({ runId, role }) => runId === run.runId && role === 'ASSISTANT',
        );
        expect(answer).toMatchObject({ content: text });
        expect(completed?.data['text']).toBe(text);
        expect(joined(events, 'assistant.thinking.delta')).toBe(reasoning);
      }),
      { numRuns: 15 },
    );
  });
});
