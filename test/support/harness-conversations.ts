import fc from 'fast-check';
import { Conversation, DataMark } from '../../src/harness/context/rendering.js';
import type { ContextParts } from '../../src/harness/context/rendering.js';
import { RunSkills } from '../../src/harness/store/message.repository.js';
import type { TurnMessage } from '../../src/harness/store/message.repository.js';

/** Something that happens in a run. Lengths are characters; `counted` is what the service says it has read. */
export type Item =
  | { readonly kind: 'user' | 'control' | 'answer'; readonly length: number }
  | {
      readonly kind: 'turn';
      readonly calls: readonly { readonly skill: boolean; readonly length: number }[];
      readonly counted: number | undefined;
    };

const SKILL = 'careful';
export const SKILL_BODY = 'Be careful, and look twice. '.repeat(10);
const skills = new RunSkills([
  {
    name: SKILL,
    description: 'How to be careful',
    source: 'built-in',
    sha256: '',
    base: '',
    path: SKILL,
    body: SKILL_BODY,
  },
]);

/** The stored messages of a run in which all this has happened. */
export function messagesOf(items: readonly Item[]): TurnMessage[] {
  const messages: TurnMessage[] = [];
  const add = (fields: Partial<TurnMessage> & Pick<TurnMessage, 'role'>): void => {
    const sequence = messages.length + 1;
    messages.push({
      ...{ id: `m${sequence}`, sequence, content: '', toolCalls: [], toolCallId: null },
      ...{ toolName: null, toolError: false, usage: null, metadata: {}, providerState: null },
      ...{ pruned: false, ...fields },
    });
  };
  add({ role: 'USER', content: 'THE REQUIREMENT', metadata: { kind: 'INITIAL' } });
  for (const [number, item] of items.entries()) {
    if (item.kind !== 'turn') {
      const role = item.kind === 'user' ? 'USER' : item.kind === 'answer' ? 'ASSISTANT' : 'CONTROL';
      add({ role, content: `${item.kind} ${number} ${'word '.repeat(item.length / 5)}` });
      continue;
    }
    const toolCalls = item.calls.map(({ skill }, index) => ({
      toolCallId: `call-${number}-${index}`,
      toolName: skill ? 'activate_skill' : 'read_file',
      arguments: skill ? `{"name":"${SKILL}"}` : `{"path":"file-${number}-${index}"}`,
    }));
    const usage = item.counted === undefined ? null : { inputTokens: item.counted };
    add({ role: 'ASSISTANT', content: 'I look.', toolCalls, usage });
    for (const [index, { skill, length }] of item.calls.entries()) {
      const { toolCallId, toolName } = toolCalls[index] ?? { toolCallId: '', toolName: '' };
      const content = skill
        ? SKILL_BODY
        : `output ${number}-${index} ${'data '.repeat(length / 5)}`;
      add({
        role: 'TOOL',
        toolCallId,
        toolName,
        content,
        metadata: { artifactId: `art-${number}` },
      });
    }
  }
  return messages;
}

/** What is sent of them with a window of so many tokens. */
export function partsOf(messages: readonly TurnMessage[], limit: number): ContextParts {
  return {
    frame: [{ role: 'system', content: 'Rules.' }],
    conversation: Conversation.of(messages),
    images: [],
    skills,
    tools: [],
    mark: new DataMark('run'),
    plan: 'THE PLAN',
    limit,
  };
}

const length = fc.oneof(fc.nat(200), fc.nat(3_000), fc.nat(40_000));
export const item: fc.Arbitrary<Item> = fc.oneof(
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('user' as const), length: fc.nat(2_000) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('control' as const), length: fc.nat(200) }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant('answer' as const), length: fc.nat(2_000) }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('turn' as const),
      calls: fc.array(
        fc.record({ skill: fc.integer({ min: 0, max: 9 }).map((n) => n === 0), length }),
        { minLength: 1, maxLength: 5 },
      ),
      counted: fc.option(fc.integer({ min: 1, max: 100_000 }), { nil: undefined }),
    }),
  },
);
/** Any run, with any window. */
export const run = fc.record({
  items: fc.array(item, { maxLength: 40 }),
  limit: fc.integer({ min: 1_500, max: 120_000 }),
});
