import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../../platform/access/index.js';
import { DoorAnswers } from '../../answer/door-answers.js';
import { UnsupportedParameterError } from '../../answer/door.errors.js';
import { parameters } from '../../answer/parameters.js';
import {
  ConversationTooLongError,
  PreviousResponseError,
  UnknownResponseError,
} from './responses.errors.js';
import { ResponsesRequest } from './responses.protocol.js';
import { readParameters } from './responses.request.js';
import type { DeletedResponseView, InputItemsView } from './responses.view.js';
import type { JsonObject } from './stored-response.entity.js';
import { StoredResponseRepository } from './stored-response.repository.js';
import type { StoredTurn } from './stored-response.repository.js';

/** The most that is read of a conversation to continue it. */
const LONGEST = { turns: 500, bytes: 32 * 1024 * 1024 };
const ID = /^resp_[\da-f]{32}$/;

const count = z.coerce.number().int().min(1).max(100);
const listQuery = z.looseObject({
  limit: count.optional(),
  order: z.enum(['asc', 'desc']).optional(),
  after: z.string().max(200).optional(),
});

/** /v1/responses: answers, and those that are stored to be continued, each the user's alone. */
@Injectable()
export class Responses {
  constructor(
    private readonly answers: DoorAnswers,
    private readonly stored: StoredResponseRepository,
  ) {}

  /** Fails like DoorAnswers. A response is stored before the client is told that it is finished. */
  async create(caller: Caller, body: unknown, response: Response): Promise<void> {
    const given = readParameters(body);
    const { previous_response_id: previousId, store = true, model: modelName } = given;
    const turns = previousId === undefined ? [] : await this.conversation(caller, previousId);
    const earlier = turns.flatMap(({ input, response: { output } }) => [
      ...input,
      ...(output as readonly JsonObject[]),
    ]);
    const keep = (id: string, made: JsonObject): Promise<void> =>
      this.stored.insert(caller, {
        ...{ id, modelName, previous: turns.at(-1) },
        ...{ input: request.input, response: made },
      });
    const asSent = body as ResponsesRequest['body'];
    const request = new ResponsesRequest(asSent, given, earlier, store ? keep : undefined);
    await this.answers.answer(caller, request, response);
  }

  /** Throws UnknownResponseError. */
  async get(caller: Caller, id: string, { stream }: { stream?: unknown }): Promise<JsonObject> {
    if (stream !== undefined && stream !== 'false') throw new UnsupportedParameterError('stream');
    const found = ID.test(id) ? await this.stored.find(caller, id) : null;
    if (!found) throw new UnknownResponseError(id);
    return found.response;
  }

  /** The items of the request of the response. Throws UnknownResponseError. */
  async inputItems(caller: Caller, id: string, query: unknown): Promise<InputItemsView> {
    const { limit = 20, order = 'desc', after } = parameters(listQuery, query);
    const found = ID.test(id) ? await this.stored.find(caller, id) : null;
    if (!found) throw new UnknownResponseError(id);
    const items = order === 'asc' ? found.input : found.input.toReversed();
    const from = after === undefined ? 0 : items.findIndex((item) => item['id'] === after) + 1;
    const data = items.slice(from, from + limit);
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
    return { id, object: 'response', deleted: true };
  }

  private async conversation(caller: Caller, id: string): Promise<StoredTurn[]> {
    if (!ID.test(id)) throw new PreviousResponseError(id.slice(0, 100));
    const turns = await this.stored.conversation(caller, id, LONGEST);
    const [oldest] = turns;
    if (!oldest) throw new PreviousResponseError(id);
    const { previousId } = oldest;
    if (previousId === null) return turns;
    const isThere = await this.stored.find(caller, previousId);
    throw isThere ? new ConversationTooLongError() : new PreviousResponseError(id);
  }
}

function idOf(item: JsonObject | undefined): string | null {
  const id = item?.['id'];
  return typeof id === 'string' ? id : null;
}
