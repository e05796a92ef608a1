import type { ChatMessage, ChatRequest, RequestedCall, OfferedTool } from '../chat/chat-request.js';
import type { JsonObject } from '../http/json.js';

/** A tool call of this conversation with what came of it. */
export interface Step {
  readonly name: string;
  readonly arguments: JsonObject;
  readonly result: string;
  readonly failed: boolean;
}

/** Message of a user. */
export interface Saying {
  readonly text: string;
  /** Said before the work began, or after it had ended; false: in the middle of it. */
  readonly opens: boolean;
  /** Number of tool calls that had a result by then. */
  readonly after: number;
}

/** A conversation as a coder reads it. */
export interface Conversation {
  readonly tools: ReadonlyMap<string, OfferedTool>;
  /** The oldest first. */
  readonly sayings: readonly Saying[];
  /** Tool calls with a result, in order. */
  readonly steps: readonly Step[];
  /** Assistant messages with tool calls. */
  readonly turns: number;
}

/** A harness may set results apart: `[data 1a2b from read_file]`, or `[data 1a2b from read_file, an error]`. */
const BLOCK = /^\[data \S+ ([^\]\n]*)\]\n([^]*?)\n?\[end of data \S+\]/;
/** Beginning of a result by which a tool reports that it failed. */
const FAILURE = /^(?:error|failed|refused|denied|not executed|not run|the call)\b/i;
const FAILURE_CODE = /^\[?[A-Z]{3,}(?:_[A-Z]+)*\]?:/;
/** Material in user messages that the user did not write, such as notes and files. */
const MATERIAL = /^\s*(?:<[\w-]+[ >]|\[(?:data|harness)\b)/;

export function readConversation({ messages, tools }: ChatRequest): Conversation {
  const asking = messages.filter(
    ({ role, toolCalls = [] }) => role === 'assistant' && toolCalls.length > 0,
  );
  return {
    tools: new Map(tools.map((tool) => [tool.name, tool])),
    sayings: sayingsIn(messages),
    steps: stepsOf(messages),
    turns: asking.length,
  };
}

function sayingsIn(messages: readonly ChatMessage[]): Saying[] {
  const sayings: Saying[] = [];
  let opens = true;
  let after = 0;
  for (const { role, text, parts = [text], toolCalls = [] } of messages) {
    if (role === 'assistant') opens = toolCalls.length === 0;
    if (role === 'tool') after += 1;
    if (role !== 'user') continue;
    for (const part of parts.map((one) => one.trim())) {
      if (part !== '' && !MATERIAL.test(part)) sayings.push({ text: part, opens, after });
    }
  }
  return sayings;
}

/** Pairs calls and results: by id where there are ids, else in order; ids may repeat from turn to turn. */
function stepsOf(messages: readonly ChatMessage[]): Step[] {
  const steps: Step[] = [];
  let open: RequestedCall[] = [];
  for (const { role, text, toolCalls = [], toolCallId = '' } of messages) {
    if (role === 'assistant') open = [...toolCalls];
    if (role !== 'tool') continue;
    const byId = open.findIndex(({ id }) => id !== '' && id === toolCallId);
    const [call] = open.splice(Math.max(byId, 0), 1);
    if (call) steps.push({ ...call, ...resultIn(text) });
  }
  return steps;
}

function resultIn(text: string): Pick<Step, 'result' | 'failed'> {
  const [, label, content] = BLOCK.exec(text) ?? [];
  if (label === undefined) {
    return { result: text, failed: FAILURE.test(text.trim()) || FAILURE_CODE.test(text.trim()) };
  }
  return { result: content ?? '', failed: label.endsWith(', an error') };
}
