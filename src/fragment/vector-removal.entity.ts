import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  Integer,
  TenantId,
  Timestamp,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** Vectors that a committed deletion still has to remove from their store. */
@Entity({ name: 'vector_removal' })
export class VectorRemoval {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** The base may be deleted already, and so may the document. */
  @Bigint() knowledgeId: number;

  /** Code of the store that holds them. */
  @Varchar(20) store: string;

  /** What of the base is removed, by at most one of these; all of it without any. */
  @Bigint(nullable) attachmentId: number | null;
  @Bigint({ ...nullable, array: true }) fragmentIds: number[] | null;
  /** The highest id of a fragment whose vector is removed. */
  @Bigint(nullable) upTo: number | null;

  /** Those that failed. */
  @Integer({ default: 0 }) attempts: number;

  /** Not before this time. */
  @Timestamp() dueAt: Date;
  @CreateTime() createTime: Date;
}
