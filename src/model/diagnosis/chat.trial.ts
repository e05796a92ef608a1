import type { ChatAdapter, ChatPart } from '../../provider/index.js';
import type { ResolvedModel } from '../model.resolver.js';
import { baseOfEndpoint } from './base.address.js';
import { reasonOf } from './step.log.js';
import { addFailure, TRIAL_LIMITS } from './trial.js';
import type { Trial, TrialResult, TrialRun } from './trial.js';

const DEFAULT_PROMPT = 'Say hello in one short sentence.';
const PREVIEW_LENGTH = 200;

/** A small question to a chat model, asked just as chat asks it, and given up once enough of the answer is there. */
export function chatTrial(adapter: ChatAdapter, model: ResolvedModel, prompt?: string): Trial {
  const url = adapter.endpoint(model.connection.address);
  return {
    url,
    normalizedAddress: baseOfEndpoint(url),
    call: (run) => firstWords(adapter, model, prompt?.trim() || DEFAULT_PROMPT, run),
  };
}

async function firstWords(
  adapter: ChatAdapter,
  model: ResolvedModel,
  prompt: string,
  { log, signal }: TrialRun,
): Promise<TrialResult> {
  const call = {
    model: model.modelName,
    messages: [{ role: 'user', content: prompt } as const],
    maxTokens: model.maxOutput,
  };
  const started = performance.now();
  const answer = new Preview(started);
  let accepted = false;
  try {
    for await (const parts of adapter.stream(call, model.connection, {
      limits: TRIAL_LIMITS,
      signal,
    })) {
      if (!accepted) log.add('http', true, started, 'The provider accepted the request.');
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
  log.add('answer', true, started, preview === '' ? 'It answered without text.' : 'It answered.');
  return {
    ok: true,
    status: 200,
    advice: 'The model can be used.',
    firstTokenMs,
    answerPreview: preview,
  };
}

/** The beginning of an answer; of the thinking where there is no text. */
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
