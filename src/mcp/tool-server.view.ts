import {
  flag,
  integer,
  nullable,
  object,
  oneOf,
  recordId,
  recordRevision,
  schema,
  text,
  texts,
  time,
  View,
  wireTime,
} from '../platform/http/index.js';
import { CONSENTS } from '../effect/index.js';
import type { Consent } from '../effect/index.js';
import { LEVEL_NAMES } from '../grant/index.js';
import type { GrantLevel } from '../grant/index.js';
import { SERVER_ACCOUNTS, SERVER_AUTHS } from './tool-server.entity.js';
import type {
  AccountKind,
  ServerAuth,
  ServerSecret,
  ServerTool,
  ToolServer,
  ToolText,
} from './tool-server.entity.js';
import { defaultConsent, stateOf, TOOL_STATES } from './tool-text.js';
import type { ToolState } from './tool-text.js';

export class ToolServerView extends View({
  id: recordId(),
  level: oneOf<GrantLevel>(LEVEL_NAMES, {
    description: 'What grants let the caller do with it; each level includes those before it',
  }),
  name: text({ example: 'crm' }),
  description: nullable(text({ example: 'Customers and orders' })),
  address: text({ example: 'https://crm.example.com/mcp' }),
  auth: oneOf<ServerAuth>(SERVER_AUTHS),
  hasToken: flag({ description: 'Whether a token is stored, which no answer has' }),
  headerNames: texts({ example: [], description: 'Names of the stored headers' }),
  account: nullable(oneOf<AccountKind>(SERVER_ACCOUNTS, { description: 'Null without OAuth' })),
  clientId: nullable(text({ example: 'plinth' })),
  hasClientSecret: flag(),
  scope: nullable(text({ example: 'crm:read' })),
  redirectUri: nullable(
    text({ description: 'To be registered with clientId; null unless persons connect accounts' }),
  ),
  connected: flag({ description: 'Whether the account that the caller would use is connected' }),
  timeoutSeconds: integer({ example: 60 }),
  enabled: flag(),
  listTime: nullable(time({ description: 'When its tools were last listed; null: never' })),
  revision: recordRevision(),
  createTime: time(),
  updateTime: time(),
}) {
  static from(
    server: ToolServer,
    secret: ServerSecret,
    more: Pick<ToolServerView, 'level' | 'redirectUri' | 'connected'>,
  ): ToolServerView {
    return ToolServerView.of(server, {
      ...more,
      hasClientSecret: secret.clientSecret !== undefined,
      hasToken: secret.token !== undefined,
      headerNames: Object.keys(secret.headers ?? {}),
      listTime: wireTime(server.listedAt),
    });
  }
}

export class ToolTextView extends View({
  title: nullable(text({ example: 'Find customers' })),
  description: text({ example: 'Finds customers by a part of their name.' }),
  inputSchema: schema<object>({ type: 'object', additionalProperties: true }),
  outputSchema: nullable(schema<object>({ type: 'object', additionalProperties: true })),
  readOnly: flag({ description: 'The server says that it changes nothing' }),
  destructive: flag({ description: 'The server says that it may delete or overwrite' }),
  idempotent: flag({ description: 'The server says that a repeated call has no further effect' }),
  openWorld: flag({ description: 'The server says that it reaches systems outside of it' }),
}) {
  static from({
    title,
    description,
    inputSchema,
    outputSchema,
    annotations,
  }: ToolText): ToolTextView {
    return ToolTextView.of({
      title: title ?? null,
      description,
      inputSchema,
      outputSchema: outputSchema ?? null,
      readOnly: annotations.readOnlyHint === true,
      destructive: annotations.destructiveHint === true,
      idempotent: annotations.idempotentHint === true,
      openWorld: annotations.openWorldHint === true,
    });
  }
}

export class ServerToolView extends View({
  id: recordId(),
  name: text({ example: 'find_customers' }),
  state: oneOf<ToolState>(TOOL_STATES, {
    description:
      'new: never accepted; changed: the server lists another text than the accepted one; missing: it lists it no longer. Only accepted tools are called',
  }),
  consent: oneOf<Consent>(CONSENTS),
  suggestedConsent: oneOf<Consent>(CONSENTS, {
    description: 'What accepting it sets, unless another one is sent: always if it only reads',
  }),
  accepted: nullable(object(ToolTextView, { description: 'What models get; null: not accepted' })),
  listed: nullable(object(ToolTextView, { description: 'What the server lists; null: nothing' })),
  listedHash: nullable(text({ description: 'Names the listed text in `accept`' })),
}) {
  static from(tool: ServerTool): ServerToolView {
    const { id, name, consent, accepted, listed, listedHash } = tool;
    const current = listed ?? accepted;
    return ServerToolView.of({
      id,
      name,
      state: stateOf(tool),
      consent,
      suggestedConsent: current ? defaultConsent(current) : 'ask',
      accepted: accepted && ToolTextView.from(accepted),
      listed: listed && ToolTextView.from(listed),
      listedHash,
    });
  }
}

export class McpToolView extends View({
  id: integer({ example: 1 }),
  name: text({ example: 'crm: find_customers', description: 'Server and tool' }),
  serverName: text({ example: 'crm' }),
  toolName: text({ example: 'find_customers' }),
  state: oneOf<ToolState>(TOOL_STATES, { description: 'Only accepted tools are called' }),
  consent: oneOf<Consent>(CONSENTS),
}) {}

export class ToolServerCheckView extends View({
  protocolVersion: text({ example: '2026-07-28' }),
  serverName: nullable(text({ example: 'crm' })),
  serverVersion: nullable(text({ example: '1.4.0' })),
  toolCount: integer({ example: 12, description: 'Tools that it lists' }),
  waitingCount: integer({ example: 2, description: 'New and changed tools that wait for consent' }),
  skippedCount: integer({
    example: 0,
    description: 'Tools that cannot be stored: above 1,000, longer than 64 KB or without a name',
  }),
}) {}
