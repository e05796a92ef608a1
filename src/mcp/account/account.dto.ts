import {
  flag,
  Input,
  integer,
  nullable,
  oneOf,
  Text,
  text,
  texts,
  time,
  View,
} from '../../platform/http/index.js';

/** Why an account was not connected. The console has a text for each. */
export const CONNECT_FAILURES = [
  'expired',
  'signed-out',
  'forbidden',
  'denied',
  'unavailable',
  'configuration',
  'invalid',
] as const;
export type ConnectFailure = (typeof CONNECT_FAILURES)[number];

export class ConnectAccountBody extends Input({
  returnTo: Text({
    optional: true,
    max: 2_000,
    example: '/account',
    description: `A path of the console to open afterwards, with \`connected\` (the server) or \`connectError\`: ${CONNECT_FAILURES.join(', ')}`,
  }),
}) {}

/** What authorization servers send back; they may add more. */
export class AccountAnswerQuery extends Input({
  code: Text({ optional: true, max: 10_000 }),
  state: Text({ optional: true, max: 1_000 }),
  iss: Text({ optional: true, max: 2_000 }),
  error: Text({ optional: true, max: 1_000 }),
}) {}

export class ServerAccountView extends View({
  serverId: integer({ example: 1 }),
  serverName: text({ example: 'crm' }),
  account: oneOf(['personal', 'shared'], {
    description: 'personal: that of the caller; shared: the one that all use',
  }),
  connected: flag(),
  connectTime: nullable(time()),
}) {}

export class AccountAddressView extends View({
  address: text({ description: 'Of the authorization server, to be opened in the same browser' }),
}) {}

/** OAuth Client ID Metadata Document. */
export class ClientDocumentView extends View({
  client_id: text({ description: 'The address of this document' }),
  client_name: text({ example: 'Plinth' }),
  redirect_uris: texts({ example: ['https://plinth.example.com/mcp/account/1/callback'] }),
  grant_types: texts({ example: ['authorization_code', 'refresh_token'] }),
  response_types: texts({ example: ['code'] }),
  token_endpoint_auth_method: text({ example: 'none' }),
}) {}
