import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  item,
  messagesOf,
  partsOf,
  run,
  SKILL_BODY,
} from '../../../test/support/harness-conversations.js';
import type { Item } from '../../../test/support/harness-conversations.js';
import { NOT_COMPACTED } from '../protocol/run.state.js';
import type { Compaction } from '../protocol/run.state.js';
import { ContextOverflowError, fit } from './compaction.js';
import type { Fit, Summarise } from './compaction.js';
import { isPrunable } from './rendering.js';
import type { ContextParts } from './rendering.js';

const summarise: Summarise = async ({ units, former }) => ({
  text: `SUMMARY of ${units.length} units after "${former.slice(0, 40)}"`,
});

/** What fits, or undefined where nothing can. */
async function fitted(
  parts: ContextParts,
  state: Compaction = NOT_COMPACTED,
): Promise<Fit | undefined> {
  return fit(parts, state, summarise).catch((error: unknown) => {
    if (error instanceof ContextOverflowError) return undefined;
    throw error;
  });
}

/** Every call of an answer stands with its one result, right behind the answer and in order. */
function expectPaired({ messages }: Fit): void {
  const open: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') expect(message.toolCallId).toBe(open.shift());
    else {
      expect(open).toEqual([]);
      if (message.role === 'assistant') open.push(...(message.toolCalls ?? []).map(({ id }) => id));
    }
  }
  expect(open).toEqual([]);
}

const textOf = ({ messages }: Fit): string =>
  messages.map(({ content }) => (typeof content === 'string' ? content : '')).join('\n');

describe('fit, for any conversation and any window', () => {
  it('never parts a call from its result, and never sends more than the window takes', async () => {
    await fc.assert(
      fc.asyncProperty(run, async ({ items, limit }) => {
        const result = await fitted(partsOf(messagesOf(items), limit));
        if (!result) return;
        expectPaired(result);
        expect(result.tokens).toBeLessThanOrEqual(limit);
      }),
      { numRuns: 300 },
    );
  });

  it('gives the same again for the state that it has left behind', async () => {
    await fc.assert(
      fc.asyncProperty(run, async ({ items, limit }) => {
        const parts = partsOf(messagesOf(items), limit);
        const result = await fitted(parts);
        if (!result?.compaction) return;
        const again = await fit(parts, result.compaction.state, async () => {
          throw new Error('There is nothing new to summarise.');
        });
        expect(again).toEqual({ messages: result.messages, tokens: result.tokens });
      }),
      { numRuns: 300 },
    );
  });

  it('goes on from any state: pairs stay, what was left out stays out, skills and requirement stay in', async () => {
    await fc.assert(
      fc.asyncProperty(run, fc.array(item, { maxLength: 20 }), async ({ items, limit }, more) => {
        const before = await fitted(partsOf(messagesOf(items), limit));
        if (!before) return;
        const state = before.compaction?.state ?? NOT_COMPACTED;
        const messages = messagesOf([...items, ...more]);
        const stored = structuredClone(messages);
        const result = await fitted(partsOf(messages, limit), state);
        expect(messages).toEqual(stored);
        if (!result) return;
        expectPaired(result);
        const next = result.compaction?.state ?? state;
        expect(next.prunedThrough).toBeGreaterThanOrEqual(state.prunedThrough);
        expect(next.summarisedThrough).toBeGreaterThanOrEqual(state.summarisedThrough);
        expect(result.messages[1]).toEqual({ role: 'user', content: 'THE REQUIREMENT' });
        if (messages.some(({ toolName }) => toolName === 'activate_skill')) {
          expect(textOf(result)).toContain(SKILL_BODY);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('outputs of which only the beginning was read, because they are left out', () => {
  it('make no difference', async () => {
    await fc.assert(
      fc.asyncProperty(run, fc.array(item, { maxLength: 20 }), async ({ items, limit }, more) => {
        const before = await fitted(partsOf(messagesOf(items), limit));
        const state = before?.compaction?.state;
        if (!state) return;
        const messages = messagesOf([...items, ...more]);
        const read = messages.map((message) =>
          message.role === 'TOOL' && message.sequence <= state.prunedThrough && isPrunable(message)
            ? { ...message, content: message.content.slice(0, 500), pruned: true }
            : message,
        );
        expect(await fitted(partsOf(read, limit), state)).toEqual(
          await fitted(partsOf(messages, limit), state),
        );
      }),
      { numRuns: 300 },
    );
  });
});

const turn = (characters: number, counted?: number): Item => ({
  kind: 'turn',
  calls: [{ skill: false, length: characters }],
  counted,
});

describe('fit', () => {
  it('leaves alone what takes less than three quarters of the window', async () => {
    const parts = partsOf(messagesOf([turn(20_000), turn(8_000)]), 10_000);
    const result = await fit(parts, NOT_COMPACTED, summarise);
    expect(result.compaction).toBeUndefined();
    expect(textOf(result)).toContain('output 0-0');
  });

  it('replaces the outputs of old calls by a pointer to what is kept of them', async () => {
    const items = [turn(40_000), turn(40_000), turn(4_000), turn(4_000)];
    const result = await fit(partsOf(messagesOf(items), 24_000), NOT_COMPACTED, summarise);
    expect(result.compaction).toMatchObject({ prunedCalls: 2, summarised: false });
    expect(result.compaction?.beforeTokens).toBeGreaterThan(18_000);
    const text = textOf(result);
    expect(text).not.toContain('output 0-0');
    expect(text).toContain('as artifact art-0');
    expect(text).toContain('output 2-0');
    expect(text).toContain('output 3-0');
  });

  it('keeps the last 40k tokens of outputs in a large window', async () => {
    const items = Array.from({ length: 12 }, () => turn(79_000));
    const result = await fit(partsOf(messagesOf(items), 300_000), NOT_COMPACTED, summarise);
    expect(result.compaction?.prunedCalls).toBe(10);
    expect(textOf(result)).toContain('output 11-0');
    expect(textOf(result)).toContain('output 10-0');
  });

  it('summarises when that is not enough, and then shows the plan, the skills and what the user said', async () => {
    const items: Item[] = [
      { kind: 'turn', calls: [{ skill: true, length: 0 }], counted: undefined },
      { kind: 'user', length: 100 },
      ...Array.from({ length: 30 }, (): Item => ({ kind: 'answer', length: 2_000 })),
    ];
    const result = await fit(partsOf(messagesOf(items), 16_000), NOT_COMPACTED, summarise);
    expect(result.compaction).toMatchObject({ summarised: true });
    expect(result.compaction?.state.summary).toContain('SUMMARY');
    const text = textOf(result);
    expect(text).toContain('user 1 word');
    expect(text).toContain('SUMMARY of');
    expect(text).toContain(SKILL_BODY);
    expect(result.messages.at(-1)?.content).toContain('THE PLAN');
    expect(result.messages.filter(({ role }) => role === 'system')).toHaveLength(1);
  });

  it('goes on without a summary that cannot be had, as long as everything fits', async () => {
    const items = Array.from({ length: 24 }, (): Item => ({ kind: 'answer', length: 2_000 }));
    const failure = new Error('The service is away.');
    const none: Summarise = async () => ({ failure });
    const result = await fit(partsOf(messagesOf(items), 15_000), NOT_COMPACTED, none);
    expect(result.compaction).toBeUndefined();
    expect(result.tokens).toBeGreaterThan(15_000 * 0.75);
    await expect(fit(partsOf(messagesOf(items), 10_000), NOT_COMPACTED, none)).rejects.toBe(
      failure,
    );
  });

  it('fails when even a summary does not help', async () => {
    const items: Item[] = [{ kind: 'answer', length: 60_000 }];
    const error = await fit(partsOf(messagesOf(items), 8_000), NOT_COMPACTED, summarise).catch(
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(ContextOverflowError);
    expect(String(error)).toContain('Start a new run');
  });

  it('believes the service where it counts more than was estimated', async () => {
    const items = [turn(10_000), turn(4_000), turn(4_000)];
    const estimated = await fit(partsOf(messagesOf(items), 20_000), NOT_COMPACTED, summarise);
    const dense = [turn(10_000), turn(4_000), turn(4_000, 9_000)];
    const counted = await fit(partsOf(messagesOf(dense), 20_000), NOT_COMPACTED, summarise);
    expect(estimated.tokens).toBeLessThan(6_000);
    expect(counted.tokens).toBeGreaterThan(9_000);
  });

  it('does not measure a compacted context by a count of the whole one', async () => {
    const items = [turn(40_000), turn(40_000), turn(4_000, 20_800)];
    const parts = partsOf(messagesOf(items), 24_000);
    const first = await fit(parts, NOT_COMPACTED, summarise);
    expect(first.compaction?.prunedCalls).toBe(2);
    const state = first.compaction?.state ?? NOT_COMPACTED;
    const again = await fit(parts, state, summarise);
    expect(again.tokens).toBe(first.tokens);
    expect(again.tokens).toBeLessThan(4_000);
  });
});
