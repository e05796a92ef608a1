import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../../platform/access/index.js';
import { parameters } from '../../answer/parameters.js';
import { newId } from '../../answer/encoded-state.js';
import { ConversationRepository } from './conversation.repository.js';
import { item, storedItems, withTypes } from './input-items.js';
import {
  ConversationTooLongError,
  UnknownConversationError,
  UnknownItemError,
} from './responses.errors.js';
import { withoutState } from './responses.protocol.js';
import { idOf, itemPage } from './responses.view.js';
import type {
  ConversationView,
  DeletedConversationView,
  InputItemsView,
} from './responses.view.js';
import type { JsonObject } from './stored-response.entity.js';

/** Limits of a conversation that can be continued. */
const MAX_READ = { count: 10_000, bytes: 32 * 1024 * 1024 };
const ID = /^conv_[\da-f]{32}$/;

/** Maximum items per request, as at OpenAI. */
const MAX_NEW_ITEMS = 20;

const metadata = z.record(z.string().max(64), z.string().max(512));
const newItems = z.array(item).max(MAX_NEW_ITEMS);
const newConversation = z.looseObject({
  items: newItems.optional(),
  metadata: metadata.optional(),
});
const moreItems = z.looseObject({ items: newItems });
const changed = z.looseObject({ metadata });

/** /v1/conversations: items that responses continue and add to, each the user's alone. */
@Injectable()
export class Conversations {
  constructor(private readonly stored: ConversationRepository) {}

  async create(caller: Caller, body: unknown): Promise<ConversationView> {
    const { items = [], metadata: newMetadata = {} } = parameters(
      newConversation,
      itemsTyped(body ?? {}),
    );
    const id = newId('conv');
    const createTime = await this.stored.insert(caller, id, newMetadata);
    if (items.length > 0) await this.stored.append(caller, id, storedItems(items));
    return viewOf({ id, createTime, metadata: newMetadata });
  }

  /** Throws UnknownConversationError. */
  async get(caller: Caller, id: string): Promise<ConversationView> {
    const existing = ID.test(id) ? await this.stored.find(caller, id) : null;
    if (!existing) throw new UnknownConversationError(id.slice(0, 100));
    return viewOf(existing);
  }

  async update(caller: Caller, id: string, body: unknown): Promise<ConversationView> {
    const existing = await this.get(caller, id);
    const { metadata: newMetadata } = parameters(changed, body);
    await this.stored.update(caller, id, newMetadata);
    return { ...existing, metadata: newMetadata };
  }

  async remove(caller: Caller, id: string): Promise<DeletedConversationView> {
    await this.get(caller, id);
    await this.stored.remove(caller, id);
    return { id, object: 'conversation.deleted', deleted: true };
  }

  async list(caller: Caller, id: string, query: unknown): Promise<InputItemsView> {
    await this.get(caller, id);
    const { limit = 20, order = 'desc', after } = itemPage(query);
    const page = { limit: limit + 1, order, after };
    const items = await this.stored.page(caller, id, page);
    return listOf(items.slice(0, limit), items.length > limit);
  }

  async add(caller: Caller, id: string, body: unknown): Promise<InputItemsView> {
    await this.get(caller, id);
    const items = storedItems(parameters(moreItems, itemsTyped(body)).items);
    await this.stored.append(caller, id, items);
    return listOf(items, false);
  }

  async item(caller: Caller, id: string, itemId: string): Promise<JsonObject> {
    await this.get(caller, id);
    const existing = await this.stored.findItem(caller, id, itemId);
    if (!existing) throw new UnknownItemError(itemId.slice(0, 100));
    return withoutState(existing);
  }

  async removeItem(caller: Caller, id: string, itemId: string): Promise<ConversationView> {
    const conversation = await this.get(caller, id);
    if (await this.stored.removeItem(caller, id, itemId)) return conversation;
    throw new UnknownItemError(itemId.slice(0, 100));
  }

  /** The items that a response continues. Throws UnknownConversationError and ConversationTooLongError. */
  async itemsToContinue(caller: Caller, id: string): Promise<readonly JsonObject[]> {
    await this.get(caller, id);
    const items = await this.stored.items(caller, id, MAX_READ);
    if (!items) throw new ConversationTooLongError('conversation');
    return items;
  }

  append(caller: Caller, id: string, items: readonly JsonObject[]): Promise<void> {
    return this.stored.append(caller, id, items);
  }

  itemsById(caller: Caller, ids: readonly string[]): Promise<JsonObject[]> {
    return this.stored.itemsById(caller, ids);
  }
}

function itemsTyped(body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('items' in body)) return body;
  return { ...body, items: withTypes(body.items) };
}

function listOf(items: readonly JsonObject[], hasMore: boolean): InputItemsView {
  const data = items.map((one) => withoutState(one));
  return {
    object: 'list',
    data,
    first_id: idOf(data[0]),
    last_id: idOf(data.at(-1)),
    has_more: hasMore,
  };
}

function viewOf(one: {
  readonly id: string;
  readonly createTime: Date;
  readonly metadata: JsonObject;
}): ConversationView {
  return {
    id: one.id,
    object: 'conversation',
    created_at: Math.floor(one.createTime.getTime() / 1_000),
    metadata: one.metadata,
  };
}
