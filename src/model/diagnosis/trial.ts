import { DomainError } from '../../platform/error/index.js';
import { localized } from '../../platform/http/index.js';
import type { Steps } from '../../platform/http/index.js';
import type { Message } from '../../platform/message/index.js';
import { literal, msg } from '../../platform/message/index.js';
import { UpstreamError } from '../../provider/index.js';
import type { ChatPart } from '../../provider/index.js';
import type { ModelUse } from '../calls/attempt.js';
import type { UpstreamCalls } from '../calls/upstream.calls.js';
import type {
  ResolvedChatModel,
  ResolvedEmbeddingModel,
  ResolvedRerankModel,
} from '../model.resolver.js';
import type { DiagnosisView, DiagnosisStep, DiagnosisStepView } from './diagnosis.view.js';

/** The findings of a trial call, beside its steps. */
export interface TrialResult extends Omit<
  DiagnosisView,
  'steps' | 'normalizedAddress' | 'url' | 'advice' | 'findings'
> {
  readonly advice: Message;
}

export interface TrialRun {
  readonly calls: UpstreamCalls;
  readonly use: ModelUse;
  readonly log: StepLog;
  readonly signal: AbortSignal;
}

/** The address of a model and, for categories with a cheap one, the call that tries it. */
export interface Trial {
  readonly url: string;
  readonly normalizedAddress: string;
  /** Records the steps `http` and `answer`; throws what the call fails with. */
  call?(run: TrialRun): Promise<TrialResult>;
}

const TRIAL_LIMITS = { connectMs: 10_000, idleMs: 30_000, totalMs: 60_000 } as const;

/** An attempt with the model as it was resolved. */
function trialOptions<M>(model: M, { use, signal }: TrialRun) {
  return { use, limits: TRIAL_LIMITS, signal, current: () => model };
}

/** Makes a call that has one answer, and records its two steps. Throws what the call throws. */
async function runCall<T>(
  log: StepLog,
  call: () => Promise<T>,
  describe: (answer: T) => Message,
): Promise<T> {
  const started = log.begin('http');
  try {
    const answer = await call();
    log.add('http', true, started, msg`The provider accepted the request.`);
    log.add('answer', true, started, describe(answer));
    return answer;
  } catch (error) {
    addFailure(log, started, error);
    throw error;
  }
}

/** Records a failure of a call as the step that it belongs to. */
function addFailure(log: StepLog, started: number, error: unknown): void {
  const isAnswered = isAboutContent(error);
  if (isAnswered) log.add('http', true, started, msg`The provider answered.`);
  log.add(isAnswered ? 'answer' : 'http', false, started, reasonOf(error));
}

/** The service answered, but not in its protocol, or not to the end. */
function isAboutContent(error: unknown): boolean {
  return error instanceof UpstreamError && ['protocol', 'content', 'cut'].includes(error.kind);
}

/** The steps of one diagnosis, each timed; a step that fails is kept with its reason and ends the run. */
export class StepLog {
  readonly steps: DiagnosisStepView[] = [];

  /** `send` receives each step when it begins, and when it ends. */
  constructor(private readonly send: Steps['send'] = () => undefined) {}

  /** Returns the start time of the step, for `add`. */
  begin(step: DiagnosisStep): number {
    this.send('start', { step });
    return performance.now();
  }

  /** Runs one step and records the description of its result. Throws what the step throws. */
  async run<T>(
    step: DiagnosisStep,
    work: () => Promise<T> | T,
    describe: (result: T) => Message,
  ): Promise<T> {
    const started = this.begin(step);
    try {
      const result = await work();
      this.add(step, true, started, describe(result));
      return result;
    } catch (error) {
      this.add(step, false, started, reasonOf(error));
      throw error;
    }
  }

  add(step: DiagnosisStep, ok: boolean, started: number, detail: Message): void {
    const ms = Math.round(performance.now() - started);
    const view = { step, ok, ms, detail: localized(detail) };
    this.steps.push(view);
    this.send('step', view);
  }
}

function reasonOf(error: unknown): Message {
  if (error instanceof DomainError) return error.userMessage;
  return error instanceof Error ? literal(error.message) : msg`It failed.`;
}

/** The endpoints that protocols append to a base address. */
const ENDPOINT =
  /\/(chat\/completions|messages|api\/chat|embeddings|api\/embed|reranks?|services\/rerank\/[\w/-]+)(?=\?|$)/;

/** The base address of a URL that is called. */
export function baseOfEndpoint(url: string): string {
  return url.replace(ENDPOINT, '');
}

export function withoutSlashes(address: string): string {
  return address.replace(/\/+$/, '');
}

const DEFAULT_PROMPT = 'Say hello in one short sentence.';
const PREVIEW_LENGTH = 200;

/** A small question to a chat model, asked just as chat asks it, and given up once enough of the answer is there. */
export function chatTrial(model: ResolvedChatModel, prompt?: string): Trial {
  const url = model.adapter.endpoint(model.connection.address);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => firstWords(model, prompt?.trim() || DEFAULT_PROMPT, run),
  };
}

async function firstWords(
  model: ResolvedChatModel,
  prompt: string,
  run: TrialRun,
): Promise<TrialResult> {
  const { log } = run;
  const call = {
    messages: [{ role: 'user', content: prompt } as const],
    maxTokens: model.maxOutput,
  };
  const started = log.begin('http');
  const answer = new Preview(started);
  let accepted = false;
  try {
    for await (const parts of run.calls.stream(model, () => call, trialOptions(model, run))) {
      if (!accepted) {
        log.add('http', true, started, msg`The provider accepted the request.`);
        log.begin('answer');
      }
      accepted = true;
      for (const part of parts) answer.take(part);
      if (answer.isEnough) break;
    }
  } catch (error) {
    if (accepted) log.add('answer', false, started, reasonOf(error));
    else addFailure(log, started, error);
    throw error;
  }
  const { firstTokenMs, preview } = answer;
  log.add(
    'answer',
    true,
    started,
    preview === '' ? msg`It answered without text.` : msg`It answered.`,
  );
  return {
    ok: true,
    status: 200,
    advice: msg`The model can be used.`,
    firstTokenMs,
    answerPreview: preview,
  };
}

/** The beginning of an answer, or of its thinking where there is no text. */
class Preview {
  firstTokenMs: number | undefined;
  private text = '';
  private reasoning = '';

  constructor(private readonly started: number) {}

  get isEnough(): boolean {
    return this.text.length >= PREVIEW_LENGTH;
  }

  get preview(): string {
    return (this.text || this.reasoning).slice(0, PREVIEW_LENGTH);
  }

  take(part: ChatPart): void {
    if (part.type !== 'text-delta' && part.type !== 'reasoning-delta') return;
    this.firstTokenMs ??= Math.round(performance.now() - this.started);
    if (part.type === 'text-delta') this.text += part.text;
    else if (this.reasoning.length < PREVIEW_LENGTH) this.reasoning += part.text;
  }
}

const INPUT = 'A short sentence.';

/** Embeds one sentence, just as documents are embedded, and counts the dimensions. */
export function embeddingTrial(model: ResolvedEmbeddingModel): Trial {
  const url = model.adapter.endpoint(model.connection.address);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => measure(model, run),
  };
}

async function measure(model: ResolvedEmbeddingModel, run: TrialRun): Promise<TrialResult> {
  const { modelDimension } = model;
  const call = { inputs: [INPUT], ...(modelDimension && { dimensions: modelDimension }) };
  const dimension = await runCall(
    run.log,
    async () => {
      const answer = await run.calls.embed(model, () => call, trialOptions(model, run));
      return answer.vectors[0]?.length ?? 0;
    },
    (count) => msg`It answered ${count} dimensions.`,
  );
  const matches = modelDimension === dimension;
  const advice = matches
    ? msg`The model can be used.`
    : msg`modelDimension is ${modelDimension ?? msg`empty`}, but the model answers ${dimension} dimensions. Set modelDimension to ${dimension}.`;
  return { ok: matches, status: 200, ...(!matches && { fault: 'dimension' }), advice, dimension };
}

const QUERY = 'How many days of leave do I have?';
const DOCUMENTS = ['The canteen opens at noon.', 'Employees have 25 days of leave a year.'];

/** Ranks two sentences. */
export function rerankTrial(model: ResolvedRerankModel): Trial {
  const url = model.adapter.endpoint(model.connection.address, model.modelName);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => order(model, run),
  };
}

async function order(model: ResolvedRerankModel, run: TrialRun): Promise<TrialResult> {
  const call = { query: QUERY, documents: DOCUMENTS, topN: DOCUMENTS.length };
  await runCall(
    run.log,
    () => run.calls.rerank(model, call, trialOptions(model, run)),
    (ranked) => msg`It scored ${ranked.length} of ${DOCUMENTS.length} documents.`,
  );
  return { ok: true, status: 200, advice: msg`The model can be used.` };
}
