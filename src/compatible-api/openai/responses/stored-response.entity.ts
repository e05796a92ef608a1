import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Integer,
  Json,
  Text,
  nullable,
  primary,
  TenantId,
  Timestamp,
  Varchar,
} from '../../../platform/database/index.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** An answer of POST /v1/responses with the input that it answers. */
@Entity({ name: 'stored_response' })
export class StoredResponse {
  @Varchar(100, primary) id: string;
  @TenantId(primary) tenantId: string;
  /** Who made it, and alone sees it. */
  @Bigint(primary) userId: number;
  @Bigint(nullable) apiKeyId: number | null;
  /** As the request named it. */
  @Varchar(200) modelName: string;
  /** The response that it continues. */
  @Varchar(100, nullable) previousId: string | null;
  /** The first one of its conversation. */
  @Varchar(100) conversationId: string;
  /** The items of its own request. */
  @Json() input: readonly JsonObject[];
  /** As it was answered. */
  @Json() response: JsonObject;
  /** Of the items of both. */
  @Text({ array: true }) itemIds: readonly string[];
  /** Of a response in the background: until then its process answers for it. */
  @Timestamp(nullable) runningUntil: Date | null;
  /** Bytes of both. */
  @Integer() size: number;
  @CreateTime() createTime: Date;
  /** When its conversation was last continued. */
  @Timestamp() lastUsedTime: Date;
}

/** An event of a response in the background that was created with stream: true. */
@Entity({ name: 'stored_response_event' })
export class StoredResponseEvent {
  @TenantId(primary) tenantId: string;
  @Bigint(primary) userId: number;
  @Varchar(100, primary) responseId: string;
  /** From 0, without gaps. */
  @Integer(primary) sequence: number;
  /** As it is sent. */
  @Text() frame: string;
  @CreateTime() createTime: Date;
}
