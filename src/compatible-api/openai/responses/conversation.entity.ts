import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Integer,
  Json,
  primary,
  TenantId,
  Timestamp,
  Varchar,
} from '../../../platform/database/index.js';
import type { JsonObject } from './stored-response.entity.js';

/** A conversation that responses add to, visible only to its owner. */
@Entity({ name: 'response_conversation' })
export class ResponseConversation {
  @Varchar(50, primary) id: string;
  @TenantId() tenantId: string;
  @Bigint() userId: number;
  @Json() metadata: JsonObject;
  @CreateTime() createTime: Date;
  /** Last time an item was added. */
  @Timestamp() lastUsedTime: Date;
}

@Entity({ name: 'response_conversation_item' })
export class ResponseConversationItem {
  /** Sequence number in the conversation. */
  @GeneratedId() number: number;
  @TenantId() tenantId: string;
  @Varchar(50) conversationId: string;
  @Varchar(200) id: string;
  @Json() item: JsonObject;
  /** Bytes of the item. */
  @Integer() size: number;
}
