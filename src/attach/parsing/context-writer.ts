import { AsyncLocalStorage } from 'node:async_hooks';
import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import PQueue from 'p-queue';
import { CompletionClient } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ModelUser } from '../../usage/index.js';
import type { DocumentLease } from './document-lease.js';
import { CONTEXT_TOKENS, contextLine, contextRequest } from './fragment-context.js';
import type { ContextSource } from './fragment-context.js';
import { NoContextError } from './parsing.errors.js';
import { ParsingRepository } from './parsing.repository.js';
import type { KeptAnswer } from './parsing.repository.js';

interface Writing {
  readonly caller: ModelUser;
  readonly lease: DocumentLease;
  readonly model: ResolvedChatModel;
  readonly source: ContextSource;
  readonly kept: ReadonlyMap<string, KeptAnswer>;
  readonly signal: AbortSignal;
}

const MAX_CONCURRENT_CALLS = 4;
const CALL_TIMEOUT_MS = 60_000;

/** Lets a chat model write one line of context for each fragment, and keeps each line until the document is parsed. */
@Injectable()
export class ContextWriter {
  private readonly calls = new PQueue({ concurrency: MAX_CONCURRENT_CALLS });

  constructor(
    private readonly client: CompletionClient,
    private readonly repository: ParsingRepository,
  ) {}

  /** One line a fragment, in their order. After the first that fails for good no other is begun. */
  async write(
    lease: DocumentLease,
    model: ResolvedChatModel,
    { caller, source, signal }: Pick<Writing, 'caller' | 'source' | 'signal'>,
  ): Promise<string[]> {
    const kept = await this.repository.modelAnswers(lease.claim);
    const failure = new AbortController();
    const either = AbortSignal.any([signal, failure.signal]);
    const writing = { caller, lease, model, source, kept, signal: either };
    const inContext = AsyncLocalStorage.snapshot();
    const lines = source.fragments.map(async (_, index) => {
      try {
        return await this.calls.add(() => inContext(() => this.writeOne(writing, index)));
      } catch (error) {
        failure.abort(error);
        throw error;
      }
    });
    await Promise.allSettled(lines);
    // The row says what was paid, also for the lines before the one that failed.
    await lease.check().catch(() => undefined);
    failure.signal.throwIfAborted();
    return Promise.all(lines);
  }

  private async writeOne(writing: Writing, index: number): Promise<string> {
    const { lease, model, source, kept, signal } = writing;
    signal.throwIfAborted();
    const messages = contextRequest(source, index);
    const digest = digestOf(model, JSON.stringify(messages));
    const answer = kept.get(digest) ?? (await this.ask(writing, { index, messages, digest }));
    lease.count(answer);
    lease.contextWritten();
    return answer.text;
  }

  private async ask(
    { caller, lease, model, signal }: Writing,
    what: {
      readonly index: number;
      readonly messages: ReturnType<typeof contextRequest>;
      readonly digest: string;
    },
  ): Promise<KeptAnswer> {
    const { messages, digest, index } = what;
    const call = { messages, maxTokens: CONTEXT_TOKENS, temperature: 0, thinking: false };
    const use = { caller, feature: 'ingestion' } as const;
    const answer = await this.client.complete(model, call, {
      use,
      signal,
      timeoutMs: CALL_TIMEOUT_MS,
    });
    const { inputTokens, outputTokens } = answer;
    const text = contextLine(answer.text);
    if (text === '') throw new NoContextError(model.modelName, index + 1);
    const made = { text, inputTokens, outputTokens };
    await this.repository.keepAnswer(lease.claim, { digest, ...made });
    return made;
  }
}

/** Equal only for the same question to the same model at the same address. */
function digestOf(model: ResolvedChatModel, question: string): string {
  const { id, modelName, providerCode, connection } = model;
  const facts = [id, modelName, providerCode, connection.address];
  return createHash('sha256')
    .update(JSON.stringify(['context', facts, question]))
    .digest('hex');
}
