import { Entity } from 'typeorm';
import {
  Bigint,
  Char,
  CreateTime,
  Flag,
  GeneratedId,
  Integer,
  Jsonb,
  nullable,
  Revision,
  TenantId,
  Text,
  Timestamp,
  UpdateTime,
  Varchar,
} from '../platform/database/index.js';
import type { Consent } from '../effect/index.js';

/** none: the server is open. token: a bearer token. headers: any headers. oauth: tokens of an account. */
export const SERVER_AUTHS = ['none', 'token', 'headers', 'oauth'] as const;
export type ServerAuth = (typeof SERVER_AUTHS)[number];

/** personal: each user connects their own account. shared: one that an administrator connects. client: Plinth itself. */
export const SERVER_ACCOUNTS = ['personal', 'shared', 'client'] as const;
export type AccountKind = (typeof SERVER_ACCOUNTS)[number];

/** What `connect` of the SDK found out about a server: the answer of server/discover, or that it is of an older revision. */
export interface StoredDiscovery {
  readonly kind: 'modern' | 'legacy';
  readonly discover?: object;
}

/** An MCP server whose tools the agents of a tenant can call. */
@Entity({ name: 'tool_server' })
export class ToolServer {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint(nullable) userId: number | null;
  /** Unique in the tenant; the prefix of its tools where their names collide. */
  @Varchar(60) name: string;
  @Varchar(500, nullable) description: string | null;
  @Varchar(2000) address: string;
  @Varchar(20, { default: 'none' }) auth: ServerAuth;
  /** Null without OAuth, as are the two that follow. */
  @Varchar(10, nullable) account: AccountKind | null;
  /** The OAuth client that an administrator has entered; null: Plinth introduces itself. */
  @Varchar(500, nullable) clientId: string | null;
  /** The scope to ask for; null: that which the server names. */
  @Varchar(1000, nullable) scope: string | null;
  /** The sealed JSON of ServerSecret. */
  @Text(nullable) secret: string | null;
  /** Time limit of a call. */
  @Integer({ default: 60 }) timeoutSeconds: number;
  @Flag({ default: true }) enabled: boolean;
  @Jsonb(nullable) discovery: StoredDiscovery | null;
  /** When its tools were last listed. */
  @Timestamp(nullable) listedAt: Date | null;
  @CreateTime() createTime: Date;
  @Revision() revision: number;
  @UpdateTime() updateTime: Date;
}

/** Credentials of a server, by its `auth`. */
export interface ServerSecret {
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** That of `clientId`; undefined for a public client. */
  readonly clientSecret?: string;
  /** The authorization server that `clientId` was first used for. */
  readonly issuer?: string;
  /** The client as which Plinth has registered itself. */
  readonly registration?: ClientRegistration | undefined;
}

export interface ClientRegistration {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret?: string | undefined;
  /** How it authenticates. */
  readonly method?: string | undefined;
}

/** What a server says about a tool (MCP 2026-07-28, Tools). Hints come from the server and promise nothing. */
export interface ToolAnnotations {
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** The parts of a tool that its hash covers. */
export interface ToolText {
  readonly title?: string;
  readonly description: string;
  readonly inputSchema: object;
  readonly outputSchema?: object;
  readonly annotations: ToolAnnotations;
}

/** A tool of a server: what an administrator has accepted, and what the server listed last. */
@Entity({ name: 'server_tool' })
export class ServerTool {
  @GeneratedId() id: number;
  @TenantId() tenantId: string;
  @Bigint() serverId: number;
  @Varchar(200) name: string;
  @Jsonb(nullable) accepted: ToolText | null;
  @Char(64, nullable) acceptedHash: string | null;
  @Jsonb(nullable) listed: ToolText | null;
  @Char(64, nullable) listedHash: string | null;
  @Varchar(10, { default: 'ask' }) consent: Consent;
  @CreateTime() createTime: Date;
  @UpdateTime() updateTime: Date;
}
