import { parseRecord, protocolError } from '../../answer-failure.js';
import { isRecord, wholeNumberIn, recordIn, recordsIn, textIn } from '../../json-fields.js';
import type { JsonRecord } from '../../json-fields.js';
import type { Usage } from '../../model-call.js';
import type { Secrets } from '../../safe-text.js';
import { JsonLinesDecoder } from '../../stream-decoder.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { ChatCompletion, ChatPart, FinishReason } from '../chat.adapter.js';
import { AnswerStream, completionOf, totalOf } from '../stream-mapping.js';
import type { ToolCallPiece } from '../tool-call.js';
import { ollamaAnswerSchema } from './ollama.wire.js';

/** Maps a stream of JSON lines of /api/chat. */
export class OllamaStream extends AnswerStream {
  private calls = 0;

  constructor(secrets: Secrets, withThinking: boolean) {
    super(new JsonLinesDecoder(), secrets, withThinking);
  }

  protected readEvent(line: string, parts: ChatPart[]): boolean {
    const answer = parseRecord(line);
    if (answer['error']) throw errorInAnswer(answer['error'], this.secrets);
    const message = recordIn(answer, 'message');
    if (message !== undefined) {
      this.state.addThinking(textIn(message, 'thinking'), parts);
      this.state.addText(textIn(message, 'content'), parts);
      for (const piece of piecesIn(message, this.calls)) {
        this.calls++;
        this.state.addToolCall(piece);
      }
    }
    if (answer['done'] !== true) return false;
    this.state.setUsage(toUsage(answer));
    const raw = textIn(answer, 'done_reason') ?? '';
    this.state.setFinish(toFinishReason(raw), raw, parts);
    return true;
  }
}

/** Maps an answer in one piece. Throws UpstreamError. */
export function toCompletion(
  answer: unknown,
  secrets: Secrets,
  withThinking: boolean,
): ChatCompletion {
  if (isRecord(answer) && answer['error']) throw errorInAnswer(answer['error'], secrets);
  const parsed = ollamaAnswerSchema.safeParse(answer);
  if (!parsed.success)
    throw protocolError('The provider answered without a message.', parsed.error);
  const { message } = parsed.data;
  const raw = parsed.data.done_reason ?? '';
  return completionOf({
    text: message.content ?? '',
    reasoning: withThinking ? (message.thinking ?? '') : '',
    toolCalls: piecesIn(message, 0),
    reason: toFinishReason(raw),
    raw,
    usage: toUsage(parsed.data),
  });
}

/** Calls come whole here, with their arguments as an object. */
function piecesIn(message: JsonRecord, before: number): readonly ToolCallPiece[] {
  return recordsIn(message, 'tool_calls').map((call, at) => {
    const named = recordIn(call, 'function') ?? {};
    const given = named['arguments'] ?? {};
    return {
      index: before + at,
      id: textIn(call, 'id'),
      name: textIn(named, 'name'),
      arguments: typeof given === 'string' ? given : JSON.stringify(given),
    };
  });
}

/** Older versions send no reason with `done`. */
function toFinishReason(raw: string): FinishReason {
  switch (raw) {
    case 'stop':
    case '':
      return 'stop';
    case 'length':
      return 'length';
    default:
      return 'other';
  }
}

function toUsage(answer: JsonRecord): Usage {
  const inputTokens = wholeNumberIn(answer, 'prompt_eval_count');
  const outputTokens = wholeNumberIn(answer, 'eval_count');
  const { message: _message, ...raw } = answer;
  return {
    inputTokens,
    outputTokens,
    totalTokens: totalOf(inputTokens, outputTokens),
    raw,
  };
}
