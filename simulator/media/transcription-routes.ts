import type { Behaviour } from '../behaviour/behaviour.js';
import type { WireEvent } from '../chat/chat-protocol.js';
import { EVENT_STREAM, KEEP_ALIVE_COMMENT, serverSentEvent } from '../chat/server-sent-event.js';
import { StreamWriter } from '../chat/stream-writer.js';
import type { Exchange } from '../http/exchange.js';
import { failureMessage } from '../http/failure.js';
import { filesIn } from '../http/form.js';
import type { SentFile } from '../http/form.js';
import { type JsonObject, stringOf } from '../http/json.js';
import { errorBody } from '../http/protocol.js';
import { replyJson, replyRaw } from '../http/reply.js';
import type { Route } from '../http/route.js';

const protocol = 'chat-completions';
const FORMATS = ['json', 'text', 'srt', 'verbose_json', 'vtt', 'diarized_json'];

/**
 * Transcriptions and translations of the OpenAI service (API reference, November 2026). A model whose name contains `gpt-4o`
 * reports tokens and takes json alone; `voxtral` answers and streams as Mistral does, `vllm` as vLLM does; any other one does
 * as whisper-1: it reports seconds and does not stream.
 */
export const transcriptionRoutes: Route[] = [
  {
    method: 'POST',
    path: /\/audio\/transcriptions$/,
    protocol,
    handle: (exchange, behaviour) => answer(exchange, behaviour, 'transcribe'),
  },
  {
    method: 'POST',
    path: /\/audio\/translations$/,
    protocol,
    handle: (exchange, behaviour) => answer(exchange, behaviour, 'translate'),
  },
];

type Task = 'transcribe' | 'translate';

async function answer(exchange: Exchange, behaviour: Behaviour, task: Task): Promise<void> {
  const { body } = exchange;
  const [file] = filesIn(body, 'file');
  if (!file) return refuse(exchange, 'file is required');
  if (!/\.(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/.test(file.filename)) {
    return refuse(exchange, 'Invalid file format.');
  }
  const model = stringOf(body['model']);
  const format = stringOf(body['response_format']) || 'json';
  const takes = model.includes('gpt-4o') ? ['json'] : FORMATS;
  if (!takes.includes(format)) {
    return refuse(exchange, `response_format '${format}' is not compatible with model '${model}'.`);
  }
  const heard = {
    task,
    model,
    ...heardIn(file, task, behaviour),
    language: stringOf(body['language']) || 'en',
  };
  const streams = /gpt-4o|voxtral|vllm/.test(model);
  if (body['stream'] === 'true' && streams) return stream(exchange, behaviour, heard);
  if (format === 'text' || format === 'srt' || format === 'vtt') {
    if (!model.includes('voxtral')) {
      const text = Buffer.from(inText(heard, format));
      return replyRaw(exchange, 200, { 'content-type': 'text/plain; charset=utf-8' }, text);
    }
  }
  await replyJson(exchange, 200, inJson(heard, format), behaviour);
}

interface Heard {
  readonly task: Task;
  readonly model: string;
  readonly words: readonly string[];
  readonly seconds: number;
  readonly language: string;
}

/** Transcript: one word for each second of a WAV, and the known properties of the file. */
function heardIn(
  { base64, type }: SentFile,
  task: Task,
  behaviour: Behaviour,
): Pick<Heard, 'words' | 'seconds'> {
  const bytes = Buffer.from(base64, 'base64');
  const perSecond = bytes.toString('latin1', 0, 4) === 'RIFF' ? bytes.readUInt32LE(28) : 16_000;
  const seconds = Math.max(1, Math.round(((bytes.length - 44) / perSecond) * 100) / 100);
  const text =
    behaviour.text ??
    `${task === 'translate' ? 'In English' : 'Heard'} ${bytes.length} bytes of ${type}`;
  return { words: text.split(' '), seconds };
}

function textOf({ words }: Heard): string {
  return words.join(' ');
}

function usageOf({ model, words, seconds }: Heard): JsonObject {
  const audio = Math.ceil(seconds * 10);
  if (model.includes('voxtral')) {
    return {
      prompt_audio_seconds: Math.ceil(seconds),
      prompt_tokens: audio,
      completion_tokens: words.length,
      total_tokens: audio + words.length,
    };
  }
  if (!model.includes('gpt-4o')) return { type: 'duration', seconds: Math.ceil(seconds) };
  return {
    type: 'tokens',
    input_tokens: audio,
    input_token_details: { text_tokens: 0, audio_tokens: audio },
    output_tokens: words.length,
    total_tokens: audio + words.length,
  };
}

function inJson(heard: Heard, format: string): JsonObject {
  const { task, language, seconds, model } = heard;
  const text = textOf(heard);
  const usage = model.includes('silent-usage') ? {} : { usage: usageOf(heard) };
  const segment = { id: 0, start: 0, end: seconds, text };
  if (model.includes('voxtral')) {
    return { model, text, language, segments: [{ start: 0, end: seconds, text }], ...usage };
  }
  if (format === 'json') return { text, ...usage };
  if (format === 'diarized_json') {
    const segments = [{ ...segment, id: 'seg_0', type: 'transcript.text.segment', speaker: 'A' }];
    return { task, duration: seconds, text, segments, ...usage };
  }
  return { task, language, duration: seconds, text, segments: [segment], ...usage };
}

function inText(heard: Heard, format: string): string {
  const text = textOf(heard);
  const end = heard.seconds.toFixed(3).padStart(6, '0');
  if (format === 'text') return `${text}\n`;
  if (format === 'vtt') return `WEBVTT\n\n00:00:00.000 --> 00:00:${end}\n${text}\n\n`;
  return `1\n00:00:00,000 --> 00:00:${end.replace('.', ',')}\n${text}\n\n`;
}

function stream(exchange: Exchange, behaviour: Behaviour, heard: Heard): Promise<void> {
  const error = errorBody(protocol, 500, failureMessage(exchange, behaviour));
  const form = {
    streamType: EVENT_STREAM,
    emptyEvent: serverSentEvent({ type: 'transcript.none' }),
    malformedEvent: serverSentEvent('{"type":"transcript.text.delta","delta":'),
    keepAlive: KEEP_ALIVE_COMMENT,
    errorEvent: (failure: JsonObject) => serverSentEvent(failure),
  };
  return new StreamWriter(exchange, form, behaviour, error).stream(eventsOf(heard));
}

function eventsOf(heard: Heard): WireEvent[] {
  const { model, words, language } = heard;
  const deltas = words.map((word, at) => (at === 0 ? word : ` ${word}`));
  const event = (kind: WireEvent['kind'], data: JsonObject): WireEvent => ({
    kind,
    text: serverSentEvent(data, typeof data['type'] === 'string' ? data['type'] : undefined),
  });
  const text = textOf(heard);
  const usage = usageOf(heard);
  if (model.includes('voxtral')) {
    return [
      event('frame', { type: 'transcription.language', audio_language: language }),
      ...deltas.map((delta) => event('chunk', { type: 'transcription.text.delta', text: delta })),
      event('finish', { type: 'transcription.done', model, text, language, usage, segments: [] }),
    ];
  }
  if (model.includes('vllm')) {
    const chunk = (delta: JsonObject, finish: string | null): JsonObject => ({
      id: 'trsc-1',
      object: 'transcription.chunk',
      choices: [{ delta, finish_reason: finish, stop_reason: null }],
    });
    return [
      ...deltas.map((delta) => event('chunk', chunk({ content: delta }, null))),
      event('finish', chunk({ content: '' }, 'stop')),
      { kind: 'end-mark', text: serverSentEvent('[DONE]') },
    ];
  }
  return [
    ...deltas.map((delta) => event('chunk', { type: 'transcript.text.delta', delta })),
    event('finish', { type: 'transcript.text.done', text, usage }),
  ];
}

function refuse(exchange: Exchange, message: string): Promise<void> {
  return replyJson(exchange, 400, errorBody(protocol, 400, message));
}
