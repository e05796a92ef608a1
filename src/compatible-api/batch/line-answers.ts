import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { ApiKeyCallers, mayAny, OpenStreams, readTags } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { UserCallers } from '../../identity/index.js';
import { CallTrail } from '../../model/index.js';
import { anthropicFailure } from '../anthropic/anthropic.errors.js';
import { MessagesRequest } from '../anthropic/messages.protocol.js';
import type { ReportedCall, StreamableRequest } from '../answer/answer.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { Answer, IgnoredParameters } from '../answer/answer.js';
import { FileReferences } from '../files/file-references.js';
import { CompletionRequest } from '../openai/chat-completions.protocol.js';
import { OpenAiCompletions } from '../openai/openai.completions.js';
import { OpenAiEmbeddings } from '../openai/openai.embeddings.js';
import { openAiFailure } from '../openai/openai.errors.js';
import { OpenAiModeration } from '../openai/openai.moderation.js';
import { Responses } from '../openai/responses/responses.service.js';
import type { ApiBatch } from './api-batch.entity.js';
import { BatchOwnerError, LineRightsError } from './api-batch.errors.js';
import type { BatchEndpoint } from './batch-input.js';
import type { LeasedLine, LineEnd } from './api-batch.repository.js';

/** API key permission required by each endpoint of a batch. */
const PERMISSION = 'chat:chat:use';

export const MESSAGES_ENDPOINT = '/v1/messages';

type LineBatch = Pick<ApiBatch, 'tenantId' | 'homeTenantId' | 'userId' | 'apiKeyId'>;
type Body = Readonly<Record<string, unknown>>;

/** A line that is being answered. */
interface LineCall {
  readonly caller: Caller;
  readonly body: Body;
  readonly headers: ApiBatch['headers'];
  readonly signal: AbortSignal;
}

/** Answers batch lines like the same requests over HTTP, with the current rights of their key or user. */
@Injectable()
export class LineAnswers {
  private readonly endpoints: Readonly<
    Record<BatchEndpoint | typeof MESSAGES_ENDPOINT, (call: LineCall) => Promise<string>>
  >;

  constructor(
    private readonly answers: ApiAnswers,
    private readonly keys: ApiKeyCallers,
    private readonly users: UserCallers,
    private readonly streams: OpenStreams,
    files: FileReferences,
    responses: Responses,
    completions: OpenAiCompletions,
    embeddings: OpenAiEmbeddings,
    moderation: OpenAiModeration,
  ) {
    this.endpoints = {
      '/v1/chat/completions': async (call) => {
        const { caller, body } = call;
        const request = CompletionRequest.of(await files.inCompletion(caller, body));
        return this.run(call, request, (answer) => answers.whole(answer));
      },
      '/v1/responses': async (call) => {
        const request = await responses.request(call.caller, call.body);
        return this.run(call, request, (answer) => answers.whole(answer));
      },
      '/v1/messages': async (call) => {
        const { caller, body, headers } = call;
        const request = MessagesRequest.of(await files.inMessages(caller, body), headers);
        return this.run(call, request, (answer) => answers.whole(answer));
      },
      '/v1/completions': async (call) => {
        const { streamable, write } = await completions.read(call.caller, call.body);
        return this.run(call, streamable, async (answer) => {
          await write(answer);
          return answer.body;
        });
      },
      '/v1/embeddings': async ({ caller, body, signal }) =>
        JSON.stringify(await embeddings.embed(caller, body, { signal, ...reportedCall(caller) })),
      '/v1/moderations': async ({ caller, body, signal }) =>
        JSON.stringify(
          await moderation.moderate(caller, body, { signal, ...reportedCall(caller) }),
        ),
    };
  }

  /** The current key or user of the batch. Throws BatchOwnerError and ForbiddenError if they have lost access. */
  async callerOf({ tenantId, homeTenantId, userId, apiKeyId }: LineBatch): Promise<Caller> {
    const caller =
      apiKeyId === null
        ? await this.users.find({ userId, homeTenantId, tenantId })
        : await this.keys.current(homeTenantId, apiKeyId, 'batch');
    if (!caller) throw new BatchOwnerError(apiKeyId !== null);
    if (caller.apiKey && !mayAny(caller, [PERMISSION])) {
      throw new ForbiddenError(
        msg`The API key of the batch has lost the permission ${PERMISSION}. Make the batch again with another key.`,
      );
    }
    return { ...caller, origin: 'batch' };
  }

  /** Rejects like the same request over HTTP. */
  async answer(caller: Caller, line: LeasedLine, signal: AbortSignal): Promise<LineEnd> {
    const { endpoint, headers } = line.batch;
    const answer = this.endpoints[endpoint as BatchEndpoint];
    const tagged = readTags(caller, undefined, JSON.parse(line.request) as Body);
    const response = await answer({ ...tagged, headers, signal });
    return { status: 'succeeded', statusCode: 200, requestId: randomUUID(), response };
  }

  /** The answer of a request. It ends when the process stops, and with LineRightsError when its caller loses a right to it. */
  private async run<Request extends StreamableRequest>(
    { caller, signal }: LineCall,
    request: Request,
    write: (answer: Answer<Request>) => Promise<string>,
  ): Promise<string> {
    const answer = new Answer(caller, request);
    const watched = this.streams.watch(
      caller,
      async (now) => (await answer.mayGoOn?.(now)) ?? true,
    );
    const ending = AbortSignal.any([signal, watched.signal]);
    const end = (): void => answer.end('shutdown');
    if (ending.aborted) end();
    else ending.addEventListener('abort', end, { once: true });
    try {
      return await write(answer);
    } catch (error) {
      throw watched.signal.aborted ? new LineRightsError() : error;
    } finally {
      watched.release();
    }
  }

  /** Result of a refused line. */
  failed({ protocol }: Pick<ApiBatch, 'protocol'>, error: unknown): LineEnd {
    const failure = this.answers.failureOf(error);
    const { status, body } = (protocol === 'messages' ? anthropicFailure : openAiFailure)(failure);
    const requestId = randomUUID();
    const withId = protocol === 'messages' ? { ...body, request_id: requestId } : body;
    const response = JSON.stringify(withId);
    return { status: 'errored', statusCode: status, requestId, response };
  }
}

function reportedCall(caller: Caller): ReportedCall {
  return { trail: new CallTrail(), ignored: IgnoredParameters.of(caller) };
}
