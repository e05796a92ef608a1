import type { EmbeddingAdapter } from '../../provider/index.js';
import type { ResolvedModel } from '../model.resolver.js';
import { baseOfEndpoint } from './base.address.js';
import { runCall, TRIAL_LIMITS } from './trial.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';

const INPUT = 'A short sentence.';

/** Embeds one sentence, just as documents are embedded, and counts the dimensions. */
export function embeddingTrial(adapter: EmbeddingAdapter, model: ResolvedModel): Trial {
  const url = adapter.endpoint(model.connection.address);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => measure(adapter, model, run),
  };
}

async function measure(
  adapter: EmbeddingAdapter,
  model: ResolvedModel,
  { log, signal }: TrialRun,
): Promise<TrialResult> {
  const { modelName, modelDimension, connection } = model;
  const call = { model: modelName, inputs: [INPUT], dimensions: modelDimension };
  const dimension = await runCall(
    log,
    async () => {
      const answer = await adapter.embed(call, connection, { limits: TRIAL_LIMITS, signal });
      return answer.vectors[0]?.length ?? 0;
    },
    (count) => `It answered ${count} dimensions.`,
  );
  const matches = modelDimension === dimension;
  const advice = matches
    ? 'The model can be used.'
    : `modelDimension is ${modelDimension ?? 'empty'}, but the model answers ${dimension} dimensions. Set modelDimension to ${dimension}.`;
  return { ok: matches, status: 200, ...(!matches && { fault: 'dimension' }), advice, dimension };
}
