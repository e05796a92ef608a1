import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import type { OutboundResponse } from '../../../platform/outbound/index.js';
import { isRecord, errorInAnswer, parseJson, parseRecord } from '../vendor-json.js';
import type { JsonRecord } from '../vendor-json.js';
import type { ModelConnection, Usage } from '../model-call.js';
import type { Secrets } from '../safe-text.js';
import { billedUsage, EventStreamDecoder } from '../model-call.js';
import { cutError, protocolError, upstreamErrorOf } from '../upstream.error.js';
import { isTextFormat } from './media.adapter.js';
import type { Transcript, TranscriptEvent, TranscriptFormat } from './media.adapter.js';

/** A transcript of many hours; verbose ones have every word with its time. */
const MAX_TRANSCRIPT_BYTES = 32 * 1024 * 1024;

const count = z.number().min(0).optional().catch(undefined);
/**
 * OpenAI and vLLM: `{type: 'duration', seconds}` or `{type: 'tokens', input_tokens, output_tokens}`. Mistral:
 * `{prompt_audio_seconds, prompt_tokens, completion_tokens}`. Verbose answers have `duration` beside the text. (References
 * of the vendors, November 2026.)
 */
const usageSchema = z
  .object({
    seconds: count,
    prompt_audio_seconds: count,
    input_tokens: count,
    prompt_tokens: count,
    output_tokens: count,
    completion_tokens: count,
    total_tokens: count,
  })
  .nullish()
  .catch(undefined);
const answerSchema = z.object({
  text: z.string(),
  /** Some services send the duration as a text. */
  duration: z.coerce.number().min(0).optional().catch(undefined),
  usage: usageSchema,
  segments: z
    .array(z.object({ start: z.number(), end: z.number(), text: z.string() }))
    .nullish()
    .catch(undefined),
});

type Measured = Pick<Transcript, 'seconds' | 'usage'>;

function measured(answer: JsonRecord): Measured {
  const { duration, usage } = answerSchema.partial().safeParse(answer).data ?? {};
  const seconds = usage?.seconds ?? usage?.prompt_audio_seconds ?? duration;
  const inputTokens = usage?.input_tokens ?? usage?.prompt_tokens;
  const outputTokens = usage?.output_tokens ?? usage?.completion_tokens;
  const hasTokens = inputTokens !== undefined || outputTokens !== undefined;
  if (!hasTokens) return { seconds, usage: undefined };
  const { usage: raw } = answer;
  const billed = isRecord(raw) ? billedUsage(raw) : undefined;
  const reported: Usage = {
    inputTokens,
    outputTokens,
    totalTokens: usage?.total_tokens,
    billed,
    raw,
  };
  return { seconds, usage: reported };
}

/** Reads an answer in one piece. Throws UpstreamError. */
export async function readTranscript(
  response: OutboundResponse,
  format: TranscriptFormat,
  connection: ModelConnection,
): Promise<Transcript> {
  const answerText = await bodyOf(response);
  const type = response.headers['content-type'] ?? '';
  if (/^text\/html/i.test(type)) throw protocolError(msg`The address answered with a web page.`);
  const looksJson =
    /json/i.test(type) || (!isTextFormat(format) && answerText.trimStart().startsWith('{'));
  if (!looksJson) {
    return {
      content: isTextFormat(format) ? answerText : { text: answerText },
      text: plainText(answerText, format),
    };
  }
  const answer = parseJson(answerText);
  // Some services answer text formats as a JSON text.
  if (typeof answer === 'string')
    return {
      content: isTextFormat(format) ? answer : { text: answer },
      text: plainText(answer, format),
    };
  if (!isRecord(answer)) throw noTranscript(answer, connection);
  return transcriptIn(answer, format, connection);
}

function transcriptIn(answer: JsonRecord, format: TranscriptFormat, secrets: Secrets): Transcript {
  const read = answerSchema.safeParse(answer).data;
  if (!read) throw noTranscript(answer, secrets);
  const { text, segments } = read;
  if (!isTextFormat(format)) return { content: answer, text, ...measured(answer) };
  return { content: inText(format, text, segments ?? []), text, ...measured(answer) };
}

function noTranscript(answer: unknown, secrets: Secrets): Error {
  if (isRecord(answer)) {
    const { error } = answer;
    if (isRecord(error) || (typeof error === 'string' && error !== '')) {
      return errorInAnswer(error, secrets);
    }
  }
  return protocolError(msg`The provider answered no transcript.`);
}

interface Segment {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Builds the subtitles from reported times, for services without subtitle formats. */
function inText(format: TranscriptFormat, text: string, segments: readonly Segment[]): string {
  if (format === 'text') return `${text}\n`;
  // The service may have put the subtitles into its JSON.
  if (/-->/.test(text)) return text;
  if (segments.length === 0) {
    throw protocolError(
      msg`The provider answered no times, which subtitles need. Ask for the format json.`,
    );
  }
  const isVtt = format === 'vtt';
  const cues = segments.map(({ start, end, text: spoken }, at) => {
    const times = `${clock(start, isVtt)} --> ${clock(end, isVtt)}`;
    return `${isVtt ? '' : `${at + 1}\n`}${times}\n${spoken.trim()}\n`;
  });
  return `${isVtt ? 'WEBVTT\n\n' : ''}${cues.join('\n')}`;
}

/** `00:01:02,345` of SubRip, `00:01:02.345` of WebVTT. */
function clock(seconds: number, isVtt: boolean): string {
  const milliseconds = Math.round(seconds * 1_000);
  const two = (value: number): string => String(Math.floor(value)).padStart(2, '0');
  const rest = String(milliseconds % 1_000).padStart(3, '0');
  const whole = milliseconds / 1_000;
  return `${two(whole / 3_600)}:${two((whole / 60) % 60)}:${two(whole % 60)}${isVtt ? '.' : ','}${rest}`;
}

/** The spoken text, without the numbers and times of subtitles. */
function plainText(content: string, format: TranscriptFormat): string {
  if (format === 'text') return content.trim();
  if (format !== 'srt' && format !== 'vtt') return content;
  const lines = content.split(/\r?\n/);
  return lines
    .filter((line) => line.trim() !== '' && !/-->|^\d+$|^WEBVTT/.test(line))
    .join(' ')
    .trim();
}

async function bodyOf(response: OutboundResponse): Promise<string> {
  try {
    return await response.text(MAX_TRANSCRIPT_BYTES);
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

/** Whether the answer is a stream of events. */
export function isEventStream(response: OutboundResponse): boolean {
  return /^text\/event-stream/i.test(response.headers['content-type'] ?? '');
}

const DELTAS = ['transcript.text.delta', 'transcription.text.delta'];
const SEGMENTS = ['transcript.text.segment', 'transcription.segment'];
const ENDS = ['transcript.text.done', 'transcription.done'];

/**
 * Reads the events of OpenAI (`transcript.text.delta` and `.done`), of Mistral (`transcription.text.delta`, `.segment` and
 * `transcription.done`) and of vLLM (`transcription.chunk`, as chunks of a chat). The end of the connection alone is no end.
 */
export async function readTranscriptStream(
  response: OutboundResponse,
  connection: ModelConnection,
  onEvent: (event: TranscriptEvent) => Promise<void> | void,
): Promise<Transcript> {
  const decoder = new EventStreamDecoder();
  const reader = new TranscriptReader(connection);
  const passOn = async (events: readonly TranscriptEvent[]): Promise<void> => {
    for (const event of events) await onEvent(event);
  };
  const readAll = async (texts: readonly string[]): Promise<void> => {
    for (const data of texts) await passOn(reader.read(data));
  };
  try {
    for await (const bytes of response.body) await readAll(decoder.push(bytes));
    await readAll(decoder.end());
  } catch (error) {
    throw upstreamErrorOf(error);
  }
  reader.end();
  return reader.transcript();
}

/** One stream while it is read. */
class TranscriptReader {
  private text = '';
  private last: JsonRecord = {};
  private isOver = false;

  constructor(private readonly secrets: Secrets) {}

  read(data: string): TranscriptEvent[] {
    if (data.trim() === '[DONE]') this.isOver = true;
    if (data.trim() === '[DONE]' || data.trim() === '') return [];
    const event = parseRecord(data);
    const { type, error } = event;
    if (error !== undefined && error !== null) throw errorInAnswer(error, this.secrets);
    if (type === 'error') throw errorInAnswer(event, this.secrets);
    if (typeof type === 'string' && ENDS.includes(type)) {
      this.isOver = true;
      this.last = event;
      return [];
    }
    if (typeof type === 'string' && SEGMENTS.includes(type)) {
      return [{ ...event, type: 'transcript.text.segment' }];
    }
    if (typeof type === 'string' && DELTAS.includes(type)) {
      const { logprobs } = event;
      return this.piece(
        event['delta'] ?? event['text'],
        logprobs === undefined ? {} : { logprobs },
      );
    }
    return this.chunk(event);
  }

  end(): void {
    if (!this.isOver) throw cutError();
  }

  transcript(): Transcript {
    const { text } = this.last;
    const whole = typeof text === 'string' ? text : this.text;
    return { content: { ...this.last, text: whole }, text: whole, ...measured(this.last) };
  }

  private chunk(event: JsonRecord): TranscriptEvent[] {
    const { choices, usage } = event;
    if (isRecord(usage)) this.last = { ...this.last, usage };
    const [choice] = Array.isArray(choices) ? (choices as unknown[]) : [];
    if (!isRecord(choice)) return [];
    const { delta, finish_reason: finish } = choice;
    if (typeof finish === 'string' && finish !== '') this.isOver = true;
    return isRecord(delta) ? this.piece(delta['content'], {}) : [];
  }

  private piece(text: unknown, beside: object): TranscriptEvent[] {
    if (typeof text !== 'string' || text === '') return [];
    this.text += text;
    return [{ type: 'transcript.text.delta', delta: text, ...beside }];
  }
}
