import type { RerankAdapter } from '../../provider/index.js';
import type { ResolvedModel } from '../model.resolver.js';
import { baseOfEndpoint } from './base.address.js';
import { runCall, TRIAL_LIMITS } from './trial.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';

const QUERY = 'How many days of leave do I have?';
const DOCUMENTS = ['The canteen opens at noon.', 'Employees have 25 days of leave a year.'];

/** Has two sentences put in order. */
export function rerankTrial(adapter: RerankAdapter, model: ResolvedModel): Trial {
  const url = adapter.endpoint(model.connection.address);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => order(adapter, model, run),
  };
}

async function order(
  adapter: RerankAdapter,
  { modelName, connection }: ResolvedModel,
  { log, signal }: TrialRun,
): Promise<TrialResult> {
  const call = { model: modelName, query: QUERY, documents: DOCUMENTS, topN: DOCUMENTS.length };
  await runCall(
    log,
    () => adapter.rerank(call, connection, { limits: TRIAL_LIMITS, signal }),
    (ranked) => `It scored ${ranked.length} of ${DOCUMENTS.length} documents.`,
  );
  return { ok: true, status: 200, advice: 'The model can be used.' };
}
