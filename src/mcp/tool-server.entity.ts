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

/** none: the server is open. token: a bearer token. headers: any headers. */
export const SERVER_AUTHS = ['none', 'token', 'headers'] as const;
export type ServerAuth = (typeof SERVER_AUTHS)[number];

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
