import { Injectable } from '@nestjs/common';
import type { Message } from '../../platform/message/index.js';
import type { Caller } from '../../platform/access/index.js';
import {
  OutboundHttp,
  ForbiddenAddressError,
  OutboundError,
} from '../../platform/outbound/index.js';
import type { OutboundErrorKind } from '../../platform/outbound/index.js';
import { DomainError } from '../../platform/error/index.js';
import { literal, msg } from '../../platform/message/index.js';
import {
  InvalidAddressError,
  UnsupportedProviderError,
  UpstreamError,
} from '../../provider/index.js';
import type { UpstreamErrorKind } from '../../provider/index.js';
import { localized } from '../../platform/http/index.js';
import type { Steps } from '../../platform/http/index.js';
import { UpstreamCalls } from '../calls/upstream.calls.js';
import { describeFinding, findingsOf } from '../model.findings.js';
import { ModelAdapters } from '../model.adapters.js';
import type { ModelTestBody } from '../model.dto.js';
import { ModelResolver } from '../model.resolver.js';
import type { ResolvedModel } from '../model.resolver.js';
import { withoutSlashes, chatTrial, embeddingTrial, rerankTrial, StepLog } from './trial.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';
import { probeConnection } from './connection.probe.js';
import type { DiagnosisView, Fault } from './diagnosis.view.js';

/** The whole diagnosis, the model's own time included. */
const LIMIT_MS = 90_000;

/** Tries a model step by step and says which part of its record is wrong. Only runs on request. */
@Injectable()
export class ModelDiagnosis {
  constructor(
    private readonly models: ModelResolver,
    private readonly adapters: ModelAdapters,
    private readonly http: OutboundHttp,
    private readonly calls: UpstreamCalls,
  ) {}

  /** Reports each step as it begins (`start`) and ends (`step`). */
  async test(
    caller: Caller,
    id: number,
    body: ModelTestBody,
    steps: Steps,
  ): Promise<DiagnosisView> {
    const model = await this.models.resolveForTest(caller, id);
    const findings = (): Pick<DiagnosisView, 'findings'> => {
      const learned = [...findingsOf(model)].map((finding) =>
        localized(describeFinding(...finding)),
      );
      return learned.length > 0 ? { findings: learned } : {};
    };
    const log = new StepLog(steps.send);
    const target = { normalizedAddress: '', url: '' };
    try {
      const trial = await log.run(
        'address',
        () => this.trialOf(model, body.prompt),
        ({ url }) => (url === '' ? msg`The adapter knows the address.` : msg`Calls go to ${url}.`),
      );
      target.normalizedAddress = trial.normalizedAddress;
      target.url = trial.url;
      const result = await this.run(trial, {
        calls: this.calls,
        use: { caller, feature: 'test' },
        log,
        signal: AbortSignal.any([steps.signal, AbortSignal.timeout(LIMIT_MS)]),
      });
      return viewOf({ ...target, steps: log.steps, ...result, ...findings() });
    } catch (error) {
      return viewOf({ ...target, steps: log.steps, ok: false, ...findingOf(error), ...findings() });
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
        return chatTrial({ ...model, adapter: adapters.chat.get(providerCode) }, prompt);
      case 'vector':
        return embeddingTrial({ ...model, adapter: adapters.embedding.get(providerCode) });
      case 'rerank':
        return rerankTrial({ ...model, adapter: adapters.rerank.get(providerCode) });
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
      advice: msg`Nothing wrong was found without a call, which would cost money. Whether key and model id are right shows at the first use.`,
    };
  }
}

type Diagnosis = Omit<DiagnosisView, 'advice'> & { readonly advice: Message };

function viewOf({ advice, ...diagnosis }: Diagnosis): DiagnosisView {
  return { ...diagnosis, advice: localized(advice) };
}

/** The meaning of a failure for the administrator of the model. */
interface Finding {
  readonly fault: Fault;
  readonly advice: Message;
  readonly status?: number;
}

const FAULT_OF_OUTBOUND: Readonly<Record<OutboundErrorKind, Fault>> = {
  dns: 'dns',
  tls: 'tls',
  connect: 'connection',
  proxy: 'proxy',
  reset: 'connection',
  'timeout-connect': 'connection',
  'timeout-idle': 'timeout',
  'timeout-total': 'timeout',
  aborted: 'timeout',
  redirect: 'path',
  protocol: 'connection',
  'too-large': 'path',
  request: 'key',
};

const FAULT_OF_UPSTREAM: Readonly<Record<UpstreamErrorKind, Fault>> = {
  authentication: 'key',
  'not-found': 'path',
  'rate-limit': 'rate-limit',
  overloaded: 'provider',
  'invalid-request': 'provider',
  'context-length': 'provider',
  timeout: 'timeout',
  connection: 'connection',
  protocol: 'path',
  content: 'provider',
  cut: 'provider',
  aborted: 'timeout',
};

const ADVICE: Partial<Record<Fault, Message>> = {
  path: msg`The service answers, but not at this path. Compare the URL with the provider’s documentation: often /v1 or another prefix is missing or too much.`,
  model: msg`Address and key are right, but the provider does not know this model id. Compare modelName with the provider’s list of models.`,
};

/** Throws the error again when it is not one that a diagnosis can explain. */
function findingOf(error: unknown): Finding {
  if (error instanceof UpstreamError) return upstreamFinding(error);
  if (error instanceof OutboundError) {
    return { fault: FAULT_OF_OUTBOUND[error.kind], advice: error.userMessage };
  }
  const fault = faultOfRecord(error);
  if (!fault) throw error;
  return { fault, advice: error instanceof DomainError ? error.userMessage : literal('') };
}

function faultOfRecord(error: unknown): Fault | undefined {
  if (error instanceof ForbiddenAddressError || error instanceof InvalidAddressError)
    return 'address';
  if (error instanceof UnsupportedProviderError) return 'unsupported';
  return undefined;
}

function upstreamFinding(error: UpstreamError): Finding {
  // A failure below HTTP carries the finer reason.
  if (error.cause instanceof OutboundError) return findingOf(error.cause);
  const fault = namesModel(error) ? 'model' : FAULT_OF_UPSTREAM[error.kind];
  return {
    fault,
    advice: ADVICE[fault] ?? error.userMessage,
    ...(error.status !== undefined && { status: error.status }),
  };
}

/**
 * Services name the model in the error of a model id that they do not know (404, sometimes 400), whereas a wrong path
 * gets a web page, an empty answer or the path itself.
 */
function namesModel({ kind, status, vendorText = '' }: UpstreamError): boolean {
  if (kind !== 'not-found' && status !== 400) return false;
  return (
    /model/i.test(vendorText) &&
    /not.?(found|exist|support)|unknown|no such|invalid|does ?n.t/i.test(vendorText)
  );
}
