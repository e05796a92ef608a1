import { estimateTokens } from '../answer/tokens.js';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { type JsonValue, numberOf, stringOf } from '../http/json.js';
import { errorBody, type Protocol } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';
import { dimensionsFor, embed } from './embedding.js';

export const embeddingRoutes: Route[] = [
  {
    method: 'POST',
    path: /\/embeddings$/,
    protocol: 'chat-completions',
    handle: answerEmbeddings,
  },
  { method: 'POST', path: /\/api\/embed$/, protocol: 'ollama', handle: answerEmbed },
];

async function answerEmbeddings(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const asBase64 = exchange.body['encoding_format'] === 'base64';
  const inputs = await readInputs(exchange, 'chat-completions');
  if (inputs === undefined) return;
  const data = vectorsFor(exchange, inputs, behaviour).map((vector, index) => ({
    object: 'embedding',
    index: behaviour.sameIndex ? 0 : index,
    embedding: asBase64 ? base64Of(vector) : vector,
  }));
  const tokens = estimateTokens(inputs.join(''));
  if (!behaviour.noUsage) exchange.recording.tokens = { input: tokens, output: 0 };
  const answer = {
    object: 'list',
    data,
    model: stringOf(exchange.body['model']),
    ...(!behaviour.noUsage && { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
  await replyJson(exchange, 200, answer, behaviour);
}

async function answerEmbed(exchange: Exchange, behaviour: Behaviour): Promise<void> {
  const inputs = await readInputs(exchange, 'ollama');
  if (inputs === undefined) return;
  const tokens = estimateTokens(inputs.join(''));
  if (!behaviour.noUsage) exchange.recording.tokens = { input: tokens, output: 0 };
  const answer = {
    model: stringOf(exchange.body['model']),
    embeddings: vectorsFor(exchange, inputs, behaviour),
    total_duration: 1_000_000,
    load_duration: 1000,
    ...(!behaviour.noUsage && { prompt_eval_count: tokens }),
  };
  await replyJson(exchange, 200, answer, behaviour);
}

async function readInputs(exchange: Exchange, protocol: Protocol): Promise<string[] | undefined> {
  const { input } = exchange.body;
  const inputs: JsonValue[] = Array.isArray(input) ? input : [input ?? null];
  const texts = inputs.filter((value) => typeof value === 'string');
  if (texts.length > 0 && texts.length === inputs.length) return texts;
  const problem = 'input: a string or a list of strings is required';
  await replyJson(exchange, 400, errorBody(protocol, 400, problem));
  return undefined;
}

function vectorsFor(
  { body }: Exchange,
  inputs: readonly string[],
  behaviour: Behaviour,
): number[][] {
  const requestedDimensions = numberOf(body['dimensions']) ?? numberOf(body['output_dimension']);
  const dimensions = dimensionsFor(stringOf(body['model']), requestedDimensions);
  return spoilt(
    inputs.map((input) => embed(input, dimensions)),
    behaviour,
  );
}

/** The vectors with the faults that a behaviour asks for; NaN is written as null. */
function spoilt(vectors: readonly number[][], behaviour: Behaviour): number[][] {
  const [first = [], ...others] = vectors;
  const { tooFew, tooMany, ragged, notFinite, zeros } = behaviour;
  if (tooFew) return others;
  if (tooMany) return [...vectors, first];
  if (ragged) return [...vectors.slice(0, -1), first.slice(1)];
  if (notFinite) return [[NaN, ...first.slice(1)], ...others];
  return zeros ? vectors.map((vector) => vector.map(() => 0)) : [...vectors];
}

/** Little-endian 32-bit floats. */
function base64Of(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString('base64');
}
