import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { OutboundHttp } from '../../platform/outbound/index.js';
import { ModelAdapters } from '../model.adapters.js';
import type { ModelTestBody } from '../model.dto.js';
import { ModelResolver } from '../model.resolver.js';
import type { ResolvedModel } from '../model.resolver.js';
import { withoutSlashes } from './base.address.js';
import { chatTrial } from './chat.trial.js';
import { probeConnection } from './connection.probe.js';
import { findingOf } from './diagnosis.fault.js';
import type { DiagnosisView } from './diagnosis.view.js';
import { embeddingTrial } from './embedding.trial.js';
import { rerankTrial } from './rerank.trial.js';
import { StepLog } from './step.log.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';

/** The whole diagnosis, the model's own time included. */
const LIMIT_MS = 90_000;

/** Tries a model step by step and says which part of its record is wrong. Only runs on request. */
@Injectable()
export class ModelDiagnosis {
  constructor(
    private readonly models: ModelResolver,
    private readonly adapters: ModelAdapters,
    private readonly http: OutboundHttp,
  ) {}

  async test(caller: Caller, id: number, body: ModelTestBody): Promise<DiagnosisView> {
    const model = await this.models.resolveForTest(caller, id);
    const log = new StepLog();
    const target = { normalizedAddress: '', url: '' };
    try {
      const trial = await log.run(
        'address',
        () => this.trialOf(model, body.prompt),
        ({ url }) => (url === '' ? 'The adapter knows the address.' : `Calls go to ${url}.`),
      );
      target.normalizedAddress = trial.normalizedAddress;
      target.url = trial.url;
      const result = await this.run(trial, { log, signal: AbortSignal.timeout(LIMIT_MS) });
      return { ...target, steps: log.steps, ...result };
    } catch (error) {
      return { ...target, steps: log.steps, ok: false, ...findingOf(error) };
    }
  }

  private trialOf(model: ResolvedModel, prompt: string | undefined): Trial {
    const trial = this.trialOfCategory(model, prompt);
    if (trial.url !== '') this.http.assertAddressAllowed(trial.url);
    return trial;
  }

  private trialOfCategory(model: ResolvedModel, prompt: string | undefined): Trial {
    const { adapters } = this;
    const { category, providerCode } = model;
    switch (category) {
      case 'chat':
        return chatTrial(adapters.chat.get(providerCode), model, prompt);
      case 'vector':
        return embeddingTrial(adapters.embedding.get(providerCode), model);
      case 'rerank':
        return rerankTrial(adapters.rerank.get(providerCode), model);
      default: {
        const address = withoutSlashes(model.connection.address);
        return { url: address, normalizedAddress: address };
      }
    }
  }

  private async run(trial: Trial, run: TrialRun): Promise<TrialResult> {
    if (trial.url !== '') {
      const context = { http: this.http, signal: run.signal };
      await probeConnection(new URL(trial.url), run.log, context);
    }
    if (trial.call) return trial.call(run);
    return {
      ok: true,
      advice:
        'Nothing wrong was found without a call, which would cost money. Whether key and model id are right shows at the first use.',
    };
  }
}
