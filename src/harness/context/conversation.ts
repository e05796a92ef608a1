import { readToolCall } from '../../provider/index.js';
import type { ToolCall } from '../../provider/index.js';
import type { TurnMessage } from '../store/message.repository.js';

/** The stored messages break the rule that every tool call has exactly one result before the model is called again. */
export class UnpairedCallError extends Error {
  override readonly name = 'UnpairedCallError';
}

/** What is sent or left out as one: a text, or an answer of the model together with the results of its calls. */
export interface Unit {
  readonly message: TurnMessage;
  readonly calls: readonly ToolCall[];
  /** One for each call, in the order of the calls. */
  readonly results: readonly TurnMessage[];
}

/** The messages of a run, each call with its one result. */
export class Conversation {
  private constructor(
    /** The requirement; undefined when the run has no message yet. */
    readonly initial: TurnMessage | undefined,
    /** Everything after it. */
    readonly units: readonly Unit[],
  ) {}

  /** UnpairedCallError when a call has no result or several, or a result has no call. */
  static of(messages: readonly TurnMessage[]): Conversation {
    const results = resultsOf(messages);
    const initial =
      messages.find(({ role, metadata }) => role === 'USER' && metadata['kind'] === 'INITIAL') ??
      messages.find(({ role }) => role === 'USER');
    const units = messages
      .filter((message) => message !== initial && message.role !== 'TOOL')
      .map((message) => unitOf(message, results));
    const [unasked] = results.values();
    if (unasked) throw new UnpairedCallError(`The result ${unasked.id} belongs to no tool call.`);
    return new Conversation(initial, units);
  }

  /** The results of all calls, in the order in which they were stored. */
  get results(): readonly TurnMessage[] {
    return this.units
      .flatMap((unit) => unit.results)
      .sort((one, other) => one.sequence - other.sequence);
  }
}

function resultsOf(messages: readonly TurnMessage[]): Map<string, TurnMessage> {
  const results = new Map<string, TurnMessage>();
  for (const message of messages) {
    if (message.role !== 'TOOL') continue;
    const callId = message.toolCallId ?? '';
    if (results.has(callId)) {
      throw new UnpairedCallError(`The tool call ${callId} has more than one result.`);
    }
    results.set(callId, message);
  }
  return results;
}

/** Takes the results out of the map, so that what is left belongs to no call. */
function unitOf(message: TurnMessage, open: Map<string, TurnMessage>): Unit {
  const asked = message.role === 'ASSISTANT' ? message.toolCalls : [];
  const results = asked.map(({ toolCallId }) => {
    const result = open.get(toolCallId);
    if (!result) throw new UnpairedCallError(`The tool call ${toolCallId} has no result.`);
    open.delete(toolCallId);
    return result;
  });
  const calls = asked.map(({ toolCallId: id, toolName: name, arguments: text }) =>
    readToolCall({ id, name, arguments: text }),
  );
  return { message, calls, results };
}
