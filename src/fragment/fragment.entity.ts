import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
  nullable,
  Timestamp,
} from '../platform/database/index.js';

/** One piece of an attachment's text: what is embedded, indexed and found. Replaced as a set at each parse. */
@Entity({ name: 'fragment' })
export class Fragment {
  /** Primary key and key of the vector, so it is taken from the sequence before the row is written. */
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() knowledgeId: number;
  @Bigint() attachmentId: number;
  @Varchar(32) docId: string;

  /** Random; names the fragment to clients. */
  @Varchar(32) fid: string;

  /** Running number in the document, from 0. */
  @Integer() idx: number;
  @Text() content: string;

  /** A line that a model wrote about it. It is embedded and indexed with the text, of which it is no part. */
  @Text(nullable) context: string | null;

  /** Page of its first character, from 1. */
  @Integer(nullable) page: number | null;

  /** The headings above it, outermost first, joined by " > ". */
  @Varchar(1000, nullable) headings: string | null;

  /** Lines or cells, such as "lines 10-42" or "Sheet1!A2:F20". */
  @Varchar(200, nullable) location: string | null;

  /** Position in the extracted text of the document, in UTF-16 code units; the end is exclusive. */
  @Integer(nullable) charStart: number | null;
  @Integer(nullable) charEnd: number | null;

  /** The PostgreSQL text search configuration its words were stemmed by; `simple` where none fits. */
  @Varchar(20) language: string;

  /** Number of its terms in the keyword index, including repetitions. */
  @Integer() termCount: number;

  /** The text was changed by hand and is no longer what its vector was made from. */
  @Flag({ default: false }) edited: boolean;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** Vectors that a committed deletion still has to remove from their store. */
@Entity({ name: 'vector_removal' })
export class VectorRemoval {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** The base may be deleted already, and so may the document. */
  @Bigint() knowledgeId: number;

  /** Code of the store that holds them. */
  @Varchar(20) store: string;

  /** Target within the base, given by at most one of these columns; the whole base without any. */
  @Bigint(nullable) attachmentId: number | null;
  @Bigint({ ...nullable, array: true }) fragmentIds: number[] | null;
  /** The highest id of a fragment whose vector is removed. */
  @Bigint(nullable) upTo: number | null;

  /** Number of failed attempts. */
  @Integer({ default: 0 }) attempts: number;

  /** Earliest time of the next attempt. */
  @Timestamp() dueAt: Date;
  @CreateTime() createTime: Date;
}
