import { msg } from '../../platform/message/index.js';
import type { ChatCall, ChatMessage, ToolDefinition } from '../../provider/index.js';
import { ParameterError } from './api.errors.js';
import type { TurnPart } from '../../agent/index.js';
import type { EmulatedChoice } from './api.request.js';

/** The callable tools of a request. */
export interface NamedTools {
  readonly mode: 'auto' | 'required';
  /** The tools with their parameter paths. */
  readonly names: readonly (readonly [param: string, name: string])[];
}

export type ToolChoice = 'auto' | 'none' | 'required' | NamedTools;

export type OfferedTools = Pick<ChatCall, 'tools' | 'toolChoice'>;

/**
 * The tools for the model. If the choice names tools, only those are offered, because not every protocol can name one and
 * few can name several. Throws ParameterError for an unknown name.
 */
export function offeredTools(
  tools: readonly ToolDefinition[],
  choice: ToolChoice | undefined,
): OfferedTools {
  if (typeof choice !== 'object') {
    return {
      ...(tools.length > 0 && { tools }),
      ...(choice !== undefined && { toolChoice: choice }),
    };
  }
  for (const [param, name] of choice.names) {
    if (tools.some((one) => one.name === name)) continue;
    throw new ParameterError(
      param,
      msg`tools has no function ${name}. Choose one of those in tools.`,
    );
  }
  const named = new Set(choice.names.map(([, name]) => name));
  return { tools: tools.filter(({ name }) => named.has(name)), toolChoice: choice.mode };
}

type Parts = AsyncIterable<readonly TurnPart[]>;

interface Further {
  /** Asks the model again, with further messages. */
  readonly ask: (more: readonly ChatMessage[]) => Parts;
  /** Called if no tool was called. */
  readonly onMissing: () => void;
}

const CALL_A_TOOL =
  'You answered without calling a tool. Call one of the tools that you are offered now, and write nothing else.';

/**
 * Emulates the tool choice for models whose protocol lacks it. If a call is required, an answer without one is requested once
 * more; the second answer is passed on unchanged.
 */
export function withChoice(
  answer: Parts,
  { oneByOne, required }: EmulatedChoice,
  further: Further,
): Parts {
  const first = oneByOne ? firstCallOnly(answer) : answer;
  if (!required) return first;
  const ask: Further['ask'] = (more) =>
    oneByOne ? firstCallOnly(further.ask(more)) : further.ask(more);
  return calling(first, { ...further, ask });
}

/** The answer with only its first call; the model repeats the others after reading its result. */
async function* firstCallOnly(answer: Parts): Parts {
  let hasCalled = false;
  for await (const parts of answer) {
    const passed = parts.filter((part) => {
      if (part.type !== 'tool-call') return true;
      const isFirst = !hasCalled;
      hasCalled = true;
      return isFirst;
    });
    if (passed.length > 0) yield passed;
  }
}

/** Buffers the answer until a tool is called, because it is replaced otherwise. */
async function* calling(answer: Parts, { ask, onMissing }: Further): Parts {
  const bufferedParts: TurnPart[] = [];
  let hasCalled = false;
  for await (const parts of answer) {
    hasCalled ||= parts.some(({ type }) => type === 'tool-call');
    if (hasCalled) yield [...bufferedParts.splice(0), ...parts];
    else bufferedParts.push(...parts);
  }
  if (hasCalled) return;
  const text = bufferedParts.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  const finish = bufferedParts.findLast((part) => part.type === 'finish');
  // A truncated or refused answer would not change.
  if (finish?.reason !== 'stop') {
    onMissing();
    yield bufferedParts;
    return;
  }
  const again: TurnPart[] = [];
  for await (const parts of ask([
    ...(text === '' ? [] : [{ role: 'assistant', content: text } as const]),
    { role: 'user', content: CALL_A_TOOL },
  ])) {
    again.push(...parts);
  }
  if (!again.some(({ type }) => type === 'tool-call')) onMissing();
  // Both calls were billed.
  yield [...bufferedParts.filter(({ type }) => type === 'usage'), ...again];
}
