import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Jsonb,
  Revision,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Uuid,
  Varchar,
  nullable,
  primary,
} from '../../platform/database/index.js';

/** Users of a provider with this value among their groups get the role. */
export interface RoleMapping {
  readonly value: string;
  readonly roleId: number;
}

/** A service with which users of a tenant sign in by OpenID Connect. */
@Entity({ name: 'sso_provider' })
export class SsoProvider {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  /** Names the provider in addresses that are called without a sign-in. */
  @Uuid() publicId: string;
  @Varchar(100) name: string;
  @Varchar(500) issuer: string;
  @Varchar(255) clientId: string;
  /** The encrypted client secret; null for a public client. */
  @Text(nullable) clientSecret: string | null;
  /** The requested scopes, separated by spaces. */
  @Varchar(500) scopes: string;
  /** The claim whose values roleMapping compares. */
  @Varchar(200, nullable) groupsClaim: string | null;
  @Jsonb() roleMapping: RoleMapping[];
  /** Whether the first sign-in of a person creates a user. */
  @Flag() allowCreate: boolean;
  /** Whether SCIM provisions the users and groups of the provider. */
  @Flag({ default: false }) provisioned: boolean;
  @Char(1) status: string;
  @Revision() revision: number;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}

/** The user that a person is at Plinth, by the id that the provider has given them. */
@Entity({ name: 'sso_identity' })
export class SsoIdentity {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() providerId: number;
  @Bigint() userId: number;
  /** The value of the claim `sub`. */
  @Varchar(255) subject: string;
  /** The encrypted refresh token; null if the user cannot be checked with one. */
  @Text(nullable) refreshToken: string | null;
  /** Whether the user had groups at the last sign-in that the provider did not list. */
  @Flag({ default: false }) groupsOverage: boolean;
  @Timestamp({ insert: false }) checkedTime: Date;
  @CreateTime() createTime: Date;
}

/** A login session that a provider has vouched for. */
@Entity({ name: 'sso_session' })
export class SsoSession {
  @Uuid(primary) loginSessionId: string;
  @TenantId() tenantId: string;
  @Bigint() identityId: number;
  /** The id of the session at the provider. */
  @Varchar(255, nullable) sid: string | null;
  /** The encrypted id token, which the provider expects at the sign-out. */
  @Text(nullable) idToken: string | null;
}
