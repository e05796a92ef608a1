import { Entity } from 'typeorm';
import {
  Bigint,
  CreateTime,
  GeneratedId,
  nullable,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
} from '../../platform/database/index.js';

/** An account at the authorization server of a tool server. */
@Entity({ name: 'server_account' })
export class ServerAccount {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() serverId: number;
  /** Whose account it is; null: that of the server, which all use. */
  @Bigint(nullable) userId: number | null;
  /** The authorization server that has issued the tokens, and alone gets them back. */
  @Varchar(2000) issuer: string;
  /** The sealed JSON of AccountTokens. */
  @Text(nullable) tokens: string | null;
  /** When the access token ends; null if that is not known. */
  @Timestamp(nullable) expireTime: Date | null;
  @Uuid(nullable) leaseToken: string | null;
  @Timestamp(nullable) leaseUntil: Date | null;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

export interface AccountTokens {
  readonly accessToken: string;
  readonly refreshToken?: string | undefined;
  /** The client and the resource (RFC 8707) that the tokens were issued for. */
  readonly clientId: string;
  readonly resource: string;
}
