import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  TenantId,
  Varchar,
  nullable,
} from '../platform/database/index.js';

/** What an application needs to renew the key that a person has given it. */
@Entity({ name: 'oauth_connection' })
export class OAuthConnection {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() apiKeyId: number;
  /** SHA-256 of the client id. */
  @Char(64) clientDigest: string;
  @Varchar(2_000) redirectUri: string;
  /** The address that the key is for. */
  @Varchar(500) resource: string;
  /** SHA-256 of the authorization code. */
  @Char(64) codeDigest: string;
  /** The S256 challenge of PKCE. */
  @Char(43) codeChallenge: string;
  @Flag({ default: false }) codeUsed: boolean;
  /** SHA-256 of what all refresh tokens of the connection share. */
  @Char(64, nullable) familyDigest: string | null;
  /** SHA-256 of the one refresh token that is valid. */
  @Char(64, nullable) refreshDigest: string | null;
  @CreateTime() createTime: Date;
}
