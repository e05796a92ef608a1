import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Integer,
  Json,
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
  @Char(37, primary) id: string;
  @TenantId() tenantId: string;
  /** Who made it, and alone sees it. */
  @Bigint() userId: number;
  @Bigint(nullable) apiKeyId: number | null;
  /** As the request named it. */
  @Varchar(200) modelName: string;
  /** The response that it continues. */
  @Char(37, nullable) previousId: string | null;
  /** The first one of its conversation. */
  @Char(37) conversationId: string;
  /** The items of its own request. */
  @Json() input: readonly JsonObject[];
  /** As it was answered. */
  @Json() response: JsonObject;
  /** Bytes of both. */
  @Integer() size: number;
  @CreateTime() createTime: Date;
  /** When its conversation was last continued. */
  @Timestamp() lastUsedTime: Date;
}
