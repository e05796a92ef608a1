import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  Flag,
  GeneratedId,
  nullable,
  Revision,
  TenantId,
  Timestamp,
  UpdateTime,
  Varchar,
} from '../platform/database/index.js';
import { KNOWLEDGE_SETTINGS } from './knowledge.settings.js';
import { Columns } from './setting.kinds.js';

/** A knowledge base, with the settings by which its attachments are split, embedded and searched. */
@Entity({ name: 'knowledge_base' })
export class KnowledgeBase extends Columns(KNOWLEDGE_SETTINGS) {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;

  /** The owner; null when the user was deleted. */
  @Bigint(nullable) userId: number | null;
  /** The chat session whose files it holds; null for an ordinary base. Only the owner may read such a base. */
  @Bigint(nullable) sessionId: number | null;

  /** False: the overlap follows the block size. */
  @Flag({ default: false }) overlapChosen: boolean;

  /** Code of the store that holds its vectors; null before the first ones. Only parsing all documents again changes it. */
  @Varchar(20, nullable) vectorStore: string | null;

  /** Time since which vectors of its fragments are known to be missing in the vector store; null if none is. */
  @Timestamp(nullable) vectorsLostAt: Date | null;

  /** Whether a document of it may have a list of readers. */
  @Flag({ default: false }) restricted: boolean;

  /** Whether every document may be read: set for a search on behalf of an agent's creator who manages the base. */
  passedOn?: boolean;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}
