import type { TurnPart } from '../../agent/index.js';
import type { ChatMessage } from '../../provider/index.js';
import type { EmulatedChoice } from './api.request.js';

type Parts = AsyncIterable<readonly TurnPart[]>;

interface Further {
  /** Asks the model again, with further messages. */
  readonly ask: (more: readonly ChatMessage[]) => Parts;
  /** No tool was called after all. */
  readonly onMissing: () => void;
}

const CALL_A_TOOL =
  'You answered without calling a tool. Call one of the tools that you are offered now, and write nothing else.';

/**
 * What a request says about calls of tools, for models whose protocol has no word for it. Where a tool must be called, an answer
 * without a call is asked for once more; the second one is answered as it is.
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

/** The answer without the calls that follow the first: the model makes them again when it has read the result of that. */
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

/** Held until a tool is called, because it is replaced where none is. */
async function* calling(answer: Parts, { ask, onMissing }: Further): Parts {
  const held: TurnPart[] = [];
  let hasCalled = false;
  for await (const parts of answer) {
    hasCalled ||= parts.some(({ type }) => type === 'tool-call');
    if (hasCalled) yield [...held.splice(0), ...parts];
    else held.push(...parts);
  }
  if (hasCalled) return;
  const text = held.map((part) => (part.type === 'text-delta' ? part.text : '')).join('');
  const finish = held.findLast((part) => part.type === 'finish');
  // An answer that was cut or declined would be so again.
  if (finish?.reason !== 'stop') {
    onMissing();
    yield held;
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
  // Both calls were paid for.
  yield [...held.filter(({ type }) => type === 'usage'), ...again];
}
