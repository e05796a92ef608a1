import { Entity } from 'typeorm';
import type { MetadataFilter } from '../metadata/index.js';
import type { ResponseFormat } from '../provider/index.js';
import { isPublished } from '../grant/index.js';
import { GenerationColumns } from './generation.js';
import {
  Bigint,
  Char,
  CreateTime,
  Derived,
  Flag,
  GeneratedId,
  Integer,
  Json,
  Jsonb,
  Revision,
  TenantId,
  Text,
  UpdateTime,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** A ResponseFormat in a type that TypeORM takes for a column. */
export interface StoredResponseFormat extends Omit<ResponseFormat, 'schema'> {
  readonly schema: object;
}

/** `caller`: an agent searches the bases that the user who asks may search; `creator`: also those that its creator manages. */
export const KNOWLEDGE_AS = ['caller', 'creator'] as const;
export type KnowledgeAs = (typeof KNOWLEDGE_AS)[number];

/** An agent: a chat model with a prompt, knowledge bases, skills, tools and generation parameters. */
@Entity({ name: 'agent' })
export class Agent extends GenerationColumns() {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) userId: number | null;
  /** 1 if every user of the tenant may use it. */
  @Derived('integer', isPublished('agent', 'use')) share: number;
  @Varchar(200) agentName: string;
  @Varchar(500, nullable) agentDescribe: string | null;
  @Varchar(255, nullable) agentShow: string | null;
  @Bigint() modelId: number;

  /** '0' or '1', as clients compare it. */
  @Char(1, { default: '0' }) enableThinking: string;
  @Text(nullable) systemPrompt: string | null;
  @Jsonb({ default: [] }) mcpToolIds: number[];
  @Jsonb({ default: [] }) skillNames: string[];
  @Jsonb({ default: [] }) knowledgeIds: number[];
  /** The user whose rights its searches have; `creator` for bases that the creator manages. */
  @Varchar(10, { default: 'caller' }) knowledgeAs: KnowledgeAs;
  /** Restricts searches to matching documents; null searches all. */
  @Jsonb(nullable) filter: MetadataFilter | null;
  @Json(nullable) responseFormat: StoredResponseFormat | null;

  /** Code of an AgentRuntime. */
  @Varchar(20, { default: 'direct' }) runtime: string;
  /** Names of the tools that a runtime with tools offers. */
  @Jsonb({ default: [] }) tools: string[];
  @Flag({ default: false }) useSkills: boolean;
  /** Null applies the installation's limit. */
  @Integer(nullable) maxSteps: number | null;

  /** '0' normal, '1' disabled. */
  @Char(1, { default: '0' }) status: string;
  @Varchar(500, nullable) remark: string | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}
