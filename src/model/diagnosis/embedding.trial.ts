import { z } from 'zod';
import type { OutboundHttp } from '../../outbound/index.js';
import { errorOfAnswer, UpstreamError, upstreamErrorOf } from '../../provider/index.js';
import type { ChatAdapter } from '../../provider/index.js';
import type { ResolvedModel } from '../model.resolver.js';
import { embeddingBase, embeddingEndpoint } from './base.address.js';
import { TRIAL_LIMITS } from './trial.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';

const INPUT = 'A short sentence.';
const LARGEST_ANSWER_BYTES = 4 * 1024 * 1024;

const answerSchema = z.object({
  data: z.tuple([z.object({ embedding: z.array(z.number()).min(1) })]),
});

/** Embeds one sentence and counts the dimensions. */
export function embeddingTrial(
  http: OutboundHttp,
  model: ResolvedModel,
  chatAdapter: ChatAdapter | undefined,
): Trial {
  const normalizedAddress = embeddingBase(model.connection.address, chatAdapter);
  const url = embeddingEndpoint(normalizedAddress);
  return { url, normalizedAddress, call: (run) => measure(http, url, model, run) };
}

async function measure(
  http: OutboundHttp,
  url: string,
  model: ResolvedModel,
  { log, signal }: TrialRun,
): Promise<TrialResult> {
  const body = await log.run(
    'http',
    () => post(http, url, model, signal),
    () => 'The provider accepted the request.',
  );
  const dimension = await log.run(
    'answer',
    () => dimensionIn(body),
    (count) => `It answered ${count} dimensions.`,
  );
  const { modelDimension } = model;
  const matches = modelDimension === dimension;
  const advice = matches
    ? 'The model can be used.'
    : `modelDimension is ${modelDimension ?? 'empty'}, but the model answers ${dimension} dimensions. Set modelDimension to ${dimension}.`;
  return { ok: matches, status: 200, ...(!matches && { fault: 'dimension' }), advice, dimension };
}

async function post(
  http: OutboundHttp,
  url: string,
  model: ResolvedModel,
  signal: AbortSignal,
): Promise<string> {
  const { address, credential } = model.connection;
  try {
    const response = await http.request(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(credential && { authorization: `Bearer ${credential}` }),
      },
      body: JSON.stringify({ model: model.modelName, input: [INPUT] }),
      signal,
      timeouts: TRIAL_LIMITS,
    });
    const body = await response.text(LARGEST_ANSWER_BYTES);
    if (response.status < 400) return body;
    throw errorOfAnswer({ status: response.status, body }, { credential, address });
  } catch (error) {
    throw upstreamErrorOf(error);
  }
}

function dimensionIn(body: string): number {
  try {
    return answerSchema.parse(JSON.parse(body)).data[0].embedding.length;
  } catch (cause) {
    const message =
      'The service did not answer with an embedding. Check the address and the model id.';
    throw new UpstreamError({ kind: 'protocol', message, cause });
  }
}
