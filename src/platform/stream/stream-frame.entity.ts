import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Integer,
  Text,
  nullable,
  primary,
  TenantId,
  Varchar,
} from '../database/index.js';

/** A frame of a stream that is read on after a lost connection. It is deleted with the response or message that it belongs to. */
@Entity({ name: 'stream_frame' })
export class StreamFrame {
  @TenantId(primary) tenantId: string;
  /** The owner, who alone can read it. */
  @Bigint(primary) userId: number;
  @Varchar(100, primary) streamId: string;
  /** From 0, increasing. */
  @Integer(primary) sequence: number;
  /** The frame as sent to clients. */
  @Text() frame: string;
  /** The response in the background. */
  @Varchar(100, nullable) responseId: string | null;
  /** A message of the chat turn. */
  @Bigint(nullable) messageId: number | null;
  @CreateTime() createTime: Date;
}
