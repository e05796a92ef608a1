import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import type { Caller } from '../../../platform/access/index.js';
import { Database } from '../../../platform/database/index.js';
import { setEnvelopeCode } from '../../../platform/error/index.js';
import type { Failure } from '../../../platform/error/index.js';
import { localized } from '../../../platform/http/index.js';
import { msg } from '../../../platform/message/index.js';
import { ModelResolver } from '../../../model/index.js';
import { agentIdIn } from '../../answer/parameters.js';
import { UpstreamTokenCounts, estimateCallTokens } from '../../answer/token-counts.js';
import { ApiAnswers } from '../../answer/api-answers.js';
import {
  ParameterError,
  UnfinishedAnswerError,
  UnsupportedParameterError,
} from '../../answer/api.errors.js';
import { IgnoredParameters } from '../../answer/answer.js';
import type { CountOptions } from '../../answer/token-counts.js';
import { FileReferences } from '../../files/file-references.js';
import { newId } from '../../answer/encoded-state.js';
import { BackgroundResponses, RUNNING_MS } from './background-responses.js';
import { Conversations } from './conversations.service.js';
import { referencesIn, storedItems } from './input-items.js';
import { countedBody } from './relayed-response.js';
import { ResponseEvents } from './response-events.js';
import type { EventRecorder } from './response-events.js';
import {
  ConversationTooLongError,
  EventsNotKeptError,
  InterruptedResponseError,
  ItemReferenceError,
  NotInBackgroundError,
  PreviousResponseError,
  UnknownResponseError,
} from './responses.errors.js';
import { errorEvent, ResponsesRequest, withoutState } from './responses.protocol.js';
import type { ResponseContext } from './responses.protocol.js';
import { ENCRYPTED_REASONING, readParameters } from './responses.request.js';
import type { ResponseParameters } from './responses.request.js';
import { idOf, itemPage, storedResponseQuery } from './responses.view.js';
import type { DeletedResponseView, InputItemsView, InputTokensView } from './responses.view.js';
import type { JsonObject, StoredResponse } from './stored-response.entity.js';
import { itemsIn, StoredResponseRepository } from './stored-response.repository.js';
import type { StoredTurn } from './stored-response.repository.js';

/** Limits of a conversation that can be continued. */
const MAX_READ = { turns: 500, bytes: 32 * 1024 * 1024 };
/** Response ids, including those that services of relayed responses create. */
const ID = /^[\w-]{1,100}$/;

/** A validated request with all items of its input. */
interface ReadRequest extends Pick<ResponseContext, 'earlier' | 'requestItems' | 'hasStored'> {
  readonly params: ResponseParameters;
  readonly body: ResponsesRequest['body'];
  /** The response that this request continues. */
  readonly previous: StoredTurn | undefined;
  readonly conversationId: string | undefined;
}

/** /v1/responses: answers, and those that are stored to be continued, each the user's alone. */
@Injectable()
export class Responses {
  constructor(
    private readonly answers: ApiAnswers,
    private readonly stored: StoredResponseRepository,
    private readonly conversations: Conversations,
    private readonly background: BackgroundResponses,
    private readonly models: ModelResolver,
    private readonly events: ResponseEvents,
    private readonly counts: UpstreamTokenCounts,
    private readonly database: Database,
    private readonly files: FileReferences,
  ) {}

  /** Fails like ApiAnswers. A response is stored before the client is told that it is finished. */
  async create(caller: Caller, body: unknown, response: Response): Promise<void> {
    const read = await this.read(caller, body);
    const { store = true, background = false, stream = false } = read.params;
    if (background) {
      if (!store) {
        throw new ParameterError(
          'background',
          msg`A response in the background is stored. Leave store out, or send it true.`,
        );
      }
      if (stream) {
        await this.follow(caller, response, async () => ({
          id: idOf(await this.begin(caller, read)) ?? '',
          after: -1,
          showsState: read.params.include?.includes(ENCRYPTED_REASONING) === true,
        }));
      } else answerJson(response, await this.begin(caller, read));
      return;
    }
    await this.answers.answer(caller, this.requestOf(caller, read), response);
  }

  /** A request that is answered in one piece, for a batch. Throws as `create` does. */
  async request(caller: Caller, body: unknown): Promise<ResponsesRequest> {
    const read = await this.read(caller, body);
    if (read.params.background) throw new UnsupportedParameterError('background');
    return this.requestOf(caller, read);
  }

  private requestOf(caller: Caller, read: ReadRequest): ResponsesRequest {
    const { params, requestItems, previous, conversationId } = read;
    const { store = true } = params;
    const keep: ResponseContext['keep'] = async (response) => {
      const { id } = response;
      const turn = { input: requestItems, response };
      if (store) {
        await this.stored.insert(caller, { id, modelName: params.model, previous, ...turn });
      }
      if (conversationId) await this.conversations.append(caller, conversationId, itemsIn(turn));
    };
    const context = { ...read, keep: store || conversationId ? keep : undefined };
    return new ResponsesRequest(read.body, params, context);
  }

  /** Returns the response, or streams its events after a given one. Throws ParameterError, UnknownResponseError and EventsNotKeptError. */
  async get(caller: Caller, id: string, query: unknown, response: Response): Promise<void> {
    const { stream, starting_after: after = -1, include } = storedResponseQuery(query);
    const showsState = [include].flat().includes(ENCRYPTED_REASONING);
    if (stream !== 'true') {
      const stored = await this.current(caller, await this.getStored(caller, id));
      answerJson(response, showsState ? stored : withoutHiddenState(stored));
      return;
    }
    await this.follow(caller, response, async () => {
      await this.getStored(caller, id);
      if (!(await this.events.areKept(caller, id))) throw new EventsNotKeptError(id);
      return { id, after, showsState };
    });
  }

  /** Cancels a background response. A finished one is returned unchanged. */
  async cancel(caller: Caller, id: string): Promise<JsonObject> {
    const storedResponse = await this.getStored(caller, id);
    if (storedResponse.response['background'] !== true) throw new NotInBackgroundError();
    const response = { ...storedResponse.response, status: 'cancelled' };
    const wasRunning = await this.stored.end(caller, { ...storedResponse, response });
    this.background.end(id);
    this.events.notify(caller, id);
    return withoutHiddenState(wasRunning ? response : (await this.getStored(caller, id)).response);
  }

  /** The items of the request of the response. Throws UnknownResponseError. */
  async inputItems(caller: Caller, id: string, query: unknown): Promise<InputItemsView> {
    const { limit = 20, order = 'desc', after } = itemPage(query);
    const storedResponse = await this.getStored(caller, id);
    const items = order === 'asc' ? storedResponse.input : storedResponse.input.toReversed();
    const from = after === undefined ? 0 : items.findIndex((item) => item['id'] === after) + 1;
    const data = items.slice(from, from + limit).map((item) => withoutState(item));
    return {
      object: 'list',
      data,
      first_id: idOf(data[0]),
      last_id: idOf(data.at(-1)),
      has_more: items.length > from + data.length,
    };
  }

  /** Throws UnknownResponseError. Later responses stay, and their conversation can no longer be continued. */
  async remove(caller: Caller, id: string): Promise<DeletedResponseView> {
    const isRemoved = ID.test(id) && (await this.stored.remove(caller, id));
    if (!isRemoved) throw new UnknownResponseError(id);
    this.background.end(id);
    this.events.notify(caller, id);
    return { id, object: 'response', deleted: true };
  }

  /**
   * Tokens that the request would take in the model's window: the count of its service if available, otherwise that of the
   * model's tokenizer or an estimate.
   */
  async countTokens(
    caller: Caller,
    body: unknown,
    options: CountOptions,
  ): Promise<InputTokensView> {
    const read = await this.read(caller, body);
    const { params } = read;
    if (agentIdIn(params.model) !== undefined) throw new UnsupportedParameterError('model');
    const model = await this.models.resolveChat(caller, params.model);
    const request = new ResponsesRequest(read.body, params, { ...read, keep: undefined });
    const relayed = { protocol: 'responses', body: countedBody(request.body) } as const;
    const counted = await this.counts.count(caller, model, relayed, options);
    const estimated = (): Promise<number> =>
      estimateCallTokens(request.translate(new IgnoredParameters(false)), model.modelName);
    return { object: 'response.input_tokens', input_tokens: counted ?? (await estimated()) };
  }

  /** Starts a background response and returns its initial state. Clients poll it by id. */
  private async begin(caller: Caller, read: ReadRequest): Promise<JsonObject> {
    const { params, requestItems, previous } = read;
    const { tenantId, userId } = caller;
    const id = newId('resp');
    let finalResponse: JsonObject | undefined;
    const keep: ResponseContext['keep'] = async (response) => {
      finalResponse = { ...response, id, background: true };
    };
    const request = new ResponsesRequest(read.body, params, { ...read, id, keep });
    const initialResponse = request.initialResponse();
    let recorder: EventRecorder | undefined;
    const detached = this.answers.detached(caller, request, async (events) => {
      await recorder?.write(events);
    });
    try {
      await this.database.transaction(async () => {
        await this.stored.insert(caller, {
          id,
          modelName: params.model,
          previous,
          runningMs: RUNNING_MS,
          input: requestItems,
          response: initialResponse,
        });
        if (params.stream) recorder = await this.events.begin(caller, id, initialResponse);
      });
    } catch (error) {
      detached.release();
      throw error;
    }
    this.background.run(
      { tenantId, userId, id },
      () => detached.end(),
      async () => {
        const failure = await detached.run();
        await recorder?.close();
        await this.end(caller, read, finalResponse ?? request.failed(failure ?? unfinished()));
      },
    );
    return initialResponse;
  }

  /** Stores the end of a response in the background, unless it was cancelled. */
  private async end(caller: Caller, read: ReadRequest, response: JsonObject): Promise<void> {
    const { requestItems, conversationId } = read;
    const turn = { id: idOf(response) ?? '', input: requestItems, response };
    await this.database.transaction(async () => {
      const isKept = await this.stored.end(caller, turn);
      if (isKept && response['status'] !== 'failed' && conversationId) {
        await this.conversations.append(caller, conversationId, itemsIn(turn));
      }
    });
    this.events.notify(caller, turn.id);
  }

  /** Answers the events of a response in the background until it has ended or the client leaves. Fails like ApiAnswers. */
  private async follow(
    caller: Caller,
    response: Response,
    find: () => Promise<{
      readonly id: string;
      readonly after: number;
      readonly showsState?: boolean;
    }>,
  ): Promise<void> {
    let last = -1;
    const request = {
      stream: true,
      failureEvent: (failure: Failure) => errorEvent(failure, last + 1),
    };
    await this.answers.respond(caller, request, response, async (answer) => {
      const { id, after, showsState = false } = await find();
      const { signal } = answer;
      answer.begin();
      const ended = async (): Promise<JsonObject | undefined> => {
        if (await this.stored.isRunning(caller, id)) return undefined;
        const stored = await this.current(caller, await this.getStored(caller, id));
        if (stored['status'] === 'in_progress') return undefined;
        return showsState ? stored : withoutHiddenState(stored);
      };
      for await (const read of this.events.after(caller, id, after, { ended, signal })) {
        await answer.write(read.frames);
        ({ last } = read);
      }
      signal.throwIfAborted();
      answer.finish();
    });
  }

  /** The current response; one with an expired lease is marked as interrupted. */
  private async current(caller: Caller, storedResponse: StoredResponse): Promise<JsonObject> {
    const { id, input, response, runningUntil } = storedResponse;
    if (!runningUntil || runningUntil.getTime() > Date.now()) return response;
    const error = {
      code: 'server_error',
      message: localized(new InterruptedResponseError().userMessage),
    };
    const failed = { ...response, status: 'failed', error };
    const isEnded = await this.stored.end(caller, { id, input, response: failed });
    return isEnded ? failed : (await this.getStored(caller, id)).response;
  }

  private async getStored(caller: Caller, id: string): Promise<StoredResponse> {
    const storedResponse = ID.test(id) ? await this.stored.find(caller, id) : null;
    if (!storedResponse) throw new UnknownResponseError(id);
    return storedResponse;
  }

  /** Validates the request and loads its input. Throws ParameterError, and the errors of the continued response or conversation. */
  private async read(caller: Caller, requestBody: unknown): Promise<ReadRequest> {
    const body = await this.files.inResponse(caller, requestBody);
    const params = readParameters(body);
    const { previous_response_id: previousId, conversation } = params;
    if (previousId !== undefined && conversation !== undefined) {
      throw new ParameterError(
        'conversation',
        msg`A response continues a response or a conversation, not both. Remove one of them.`,
      );
    }
    const conversationId = typeof conversation === 'object' ? conversation.id : conversation;
    const turns = previousId === undefined ? [] : await this.conversation(caller, previousId);
    const earlier =
      conversationId === undefined
        ? turns.flatMap((turn) => itemsIn(turn))
        : await this.conversations.itemsToContinue(caller, conversationId);
    const { requestItems, hasReferences } = await this.ownItems(caller, params.input, earlier);
    const hasStored = earlier.length > 0 || hasReferences;
    const checkedBody = body as ResponsesRequest['body'];
    return {
      params,
      body: checkedBody,
      earlier,
      requestItems,
      hasStored,
      previous: turns.at(-1),
      conversationId,
    };
  }

  /** The items of the request and those that it references, without the ones already in the conversation. */
  private async ownItems(
    caller: Caller,
    input: ResponseParameters['input'],
    earlier: readonly JsonObject[],
  ): Promise<{ readonly requestItems: readonly JsonObject[]; readonly hasReferences: boolean }> {
    const requestItems = storedItems(input);
    const ids = [...new Set(referencesIn(input))];
    if (ids.length === 0) return { requestItems, hasReferences: false };
    const before = new Set(earlier.map((one) => one['id']));
    const items = await this.stored.items(caller, ids);
    const missing = ids.filter((id) => !items.has(id) && !before.has(id));
    const others = missing.length > 0 ? await this.conversations.itemsById(caller, missing) : [];
    for (const one of others) items.set(idOf(one) ?? '', one);
    const resolved = requestItems.flatMap((one, at): readonly JsonObject[] => {
      if (one['type'] !== 'item_reference') return [one];
      const id = idOf(one) ?? '';
      if (before.has(id)) return [];
      const item = items.get(id);
      if (!item) throw new ItemReferenceError(`input[${at}].id`, id);
      return [item];
    });
    return { requestItems: resolved, hasReferences: true };
  }

  private async conversation(caller: Caller, id: string): Promise<StoredTurn[]> {
    if (!ID.test(id)) throw new PreviousResponseError(id.slice(0, 100));
    const turns = await this.stored.conversation(caller, id, MAX_READ);
    const [oldest] = turns;
    if (!oldest) throw new PreviousResponseError(id);
    const { previousId } = oldest;
    if (previousId === null) return turns;
    const isThere = await this.stored.find(caller, previousId);
    throw isThere
      ? new ConversationTooLongError('previous_response_id')
      : new PreviousResponseError(id);
  }
}

/** The service ended without a complete response. */
function unfinished(): Failure {
  const error = new UnfinishedAnswerError();
  return { code: error.code, message: localized(error.userMessage), error };
}

function answerJson(response: Response, body: JsonObject): void {
  setEnvelopeCode(response, 200);
  response.status(200).json(body);
}

/** The stored response without provider states. */
function withoutHiddenState(response: JsonObject): JsonObject {
  const { output } = response;
  if (!Array.isArray(output)) return response;
  return { ...response, output: (output as object[]).map((one) => withoutState(one)) };
}
