import { parseRecord, protocolError } from '../../answer-failure.js';
import { isRecord, wholeNumberIn, recordIn, textIn } from '../../json-fields.js';
import type { JsonRecord } from '../../json-fields.js';
import type { Usage } from '../../model-call.js';
import type { Secrets } from '../../safe-text.js';
import { EventStreamDecoder } from '../../stream-decoder.js';
import { errorInAnswer } from '../../upstream-failure.js';
import type { ChatCompletion, ChatPart, FinishReason } from '../chat.adapter.js';
import { AnswerStream, completionOf, totalOf } from '../stream-mapping.js';
import { messageSchema } from './messages.wire.js';

/** Maps a stream of the messages protocol. */
export class MessagesStream extends AnswerStream {
  /** The input count comes at the start, the output count at the end. */
  private usage: JsonRecord = {};

  constructor(secrets: Secrets, withThinking: boolean) {
    super(new EventStreamDecoder(), secrets, withThinking);
  }

  protected readEvent(data: string, parts: ChatPart[]): boolean {
    const event = parseRecord(data);
    switch (event['type']) {
      case 'content_block_delta':
        this.readDelta(event, recordIn(event, 'delta'), parts);
        break;
      case 'content_block_start':
        this.readBlock(event, recordIn(event, 'content_block'), parts);
        break;
      case 'message_start':
        this.readUsage(recordIn(event, 'message') ?? {});
        break;
      case 'message_delta':
        this.readMessageDelta(event, parts);
        break;
      case 'message_stop':
        return true;
      case 'error':
        throw errorInAnswer(event['error'], this.secrets);
      default:
        // ping, content_block_stop, and what later versions add; or an error without a type.
        if (isRecord(event['error'])) throw errorInAnswer(event['error'], this.secrets);
    }
    return false;
  }

  private readDelta(event: JsonRecord, delta: JsonRecord | undefined, parts: ChatPart[]): void {
    if (delta === undefined) return;
    this.state.addText(textIn(delta, 'text'), parts);
    this.state.addThinking(textIn(delta, 'thinking'), parts);
    const json = textIn(delta, 'partial_json');
    if (json !== undefined) {
      this.state.addToolCall({ index: wholeNumberIn(event, 'index'), arguments: json });
    }
  }

  private readBlock(event: JsonRecord, block: JsonRecord | undefined, parts: ChatPart[]): void {
    if (block === undefined) return;
    if (block['type'] !== 'tool_use') {
      this.state.addText(textIn(block, 'text'), parts);
      this.state.addThinking(textIn(block, 'thinking'), parts);
      return;
    }
    // The input is empty here and comes in pieces; some gateways send it whole instead.
    const input = recordIn(block, 'input') ?? {};
    this.state.addToolCall({
      index: wholeNumberIn(event, 'index'),
      id: textIn(block, 'id'),
      name: textIn(block, 'name'),
      ...(Object.keys(input).length > 0 && { arguments: JSON.stringify(input) }),
    });
  }

  private readMessageDelta(event: JsonRecord, parts: ChatPart[]): void {
    this.readUsage(event);
    const reason = textIn(recordIn(event, 'delta') ?? {}, 'stop_reason');
    if (reason !== undefined) this.state.setFinish(toFinishReason(reason), reason, parts);
  }

  private readUsage(holder: JsonRecord): void {
    const usage = recordIn(holder, 'usage');
    if (usage === undefined) return;
    this.usage = { ...this.usage, ...usage };
    this.state.setUsage(toUsage(this.usage));
  }
}

/** Maps an answer in one piece. Throws UpstreamError. */
export function toCompletion(
  answer: unknown,
  secrets: Secrets,
  withThinking: boolean,
): ChatCompletion {
  if (isRecord(answer) && answer['error']) throw errorInAnswer(answer['error'], secrets);
  const parsed = messageSchema.safeParse(answer);
  if (!parsed.success)
    throw protocolError('The provider answered without a message.', parsed.error);
  const { content, usage } = parsed.data;
  const raw = parsed.data.stop_reason ?? '';
  return completionOf({
    text: content.map(({ text }) => text ?? '').join(''),
    reasoning: withThinking ? content.map(({ thinking }) => thinking ?? '').join('') : '',
    toolCalls: content
      .filter(({ type }) => type === 'tool_use')
      .map(({ id, name, input }, index) => ({
        index,
        id: id ?? undefined,
        name: name ?? undefined,
        arguments: JSON.stringify(input ?? {}),
      })),
    reason: toFinishReason(raw),
    raw,
    usage: usage ? toUsage(usage) : undefined,
  });
}

const FINISH_REASONS: ReadonlyMap<string, FinishReason> = new Map([
  ['end_turn', 'stop'],
  ['stop_sequence', 'stop'],
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['tool_use', 'tool-calls'],
  ['refusal', 'content-filter'],
]);

function toFinishReason(raw: string): FinishReason {
  return FINISH_REASONS.get(raw) ?? 'other';
}

/** This protocol counts cached tokens beside the input; the contract counts them in it. */
function toUsage(raw: JsonRecord): Usage {
  const uncached = wholeNumberIn(raw, 'input_tokens');
  const cached = wholeNumberIn(raw, 'cache_read_input_tokens');
  const written = wholeNumberIn(raw, 'cache_creation_input_tokens');
  const outputTokens = wholeNumberIn(raw, 'output_tokens');
  const inputTokens =
    uncached === undefined ? undefined : uncached + (cached ?? 0) + (written ?? 0);
  return {
    inputTokens,
    outputTokens,
    totalTokens: totalOf(inputTokens, outputTokens),
    cachedInputTokens: cached,
    raw,
  };
}
