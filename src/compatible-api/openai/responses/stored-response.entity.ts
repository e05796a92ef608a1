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
  /** The owner, who alone can read it. */
  @Bigint(primary) userId: number;
  @Bigint(nullable) apiKeyId: number | null;
  /** The model name of the request. */
  @Varchar(200) modelName: string;
  /** The response that this one continues. */
  @Varchar(100, nullable) previousId: string | null;
  /** The first response of the conversation. */
  @Varchar(100) conversationId: string;
  /** The items of the request. */
  @Json() input: readonly JsonObject[];
  /** The response as returned to the client. */
  @Json() response: JsonObject;
  /** Ids of the items of input and output. */
  @Text({ array: true }) itemIds: readonly string[];
  /** Lease of a background response. */
  @Timestamp(nullable) runningUntil: Date | null;
  /** Bytes of input and response. */
  @Integer() size: number;
  @CreateTime() createTime: Date;
  /** Last time the conversation was continued. */
  @Timestamp() lastUsedTime: Date;
}
