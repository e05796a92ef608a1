import { Entity } from 'typeorm';
import type { ToolConsent } from '../platform/access/index.js';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  Revision,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** A key with which a program acts for its owner. Limits are null where there is none; an empty one allows nothing. */
@Entity({ name: 'api_key' })
export class ApiKey {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  /** The id of the user that the key acts for. */
  @Bigint() userId: number;
  @Varchar(100) name: string;
  /** The part of the key that names it. */
  @Char(16) keyId: string;

  /** SHA-256 of the key, in hex. */
  @Char(64) secretDigest: string;
  /** Incremented by each rotation. */
  @Integer({ default: 1 }) secretVersion: number;
  /** Digest of the key before the last rotation, which is valid until previousExpireTime. */
  @Char(64, nullable) previousDigest: string | null;
  @Timestamp(nullable) previousExpireTime: Date | null;

  /** The chosen permissions; the key has those of them that its owner has. */
  @Text({ array: true }) permissions: string[];
  @Jsonb(nullable) modelIds: number[] | null;
  @Jsonb(nullable) agentIds: number[] | null;
  @Jsonb(nullable) knowledgeIds: number[] | null;
  /** Addresses and networks (CIDR). */
  @Jsonb(nullable) addresses: string[] | null;
  @Jsonb(nullable) doors: string[] | null;
  /** The tags that requests with the key may have. */
  @Text({ array: true, default: '{}' }) tags: string[];
  /** Requests with a parameter that the model does not know are refused. */
  @Flag({ default: false }) strictParameters: boolean;
  @Varchar(10, { default: 'refuse' }) toolConsent: ToolConsent;
  /** Incremented when permissions or limits change. */
  @Integer({ default: 1 }) rightsVersion: number;

  @Timestamp(nullable) expireTime: Date | null;
  /** Where the application is that has the key by OAuth, as a host. null for a key that a user created. */
  @Varchar(255, nullable) application: string | null;
  /** Until then its application can renew the key, which is valid for an hour at a time. */
  @Timestamp(nullable) renewableUntil: Date | null;
  /** Recorded to the minute. */
  @Timestamp(nullable) lastUsedTime: Date | null;
  @Timestamp(nullable) revokedTime: Date | null;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
