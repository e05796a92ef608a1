import { flag, integer, list, nullable, oneOf, text, texts, View } from '../platform/http/index.js';

/** Metadata of the authorization server (RFC 8414). */
export class ServerMetadataView extends View({
  issuer: text({ example: 'https://ai.example.com' }),
  authorization_endpoint: text({ example: 'https://ai.example.com/oauth/authorize' }),
  token_endpoint: text({ example: 'https://ai.example.com/oauth/token' }),
  registration_endpoint: text({ example: 'https://ai.example.com/oauth/register' }),
  revocation_endpoint: text({ example: 'https://ai.example.com/oauth/revoke' }),
  scopes_supported: texts({ example: ['chat:chat:use'] }),
  response_types_supported: texts({ example: ['code'] }),
  response_modes_supported: texts({ example: ['query'] }),
  grant_types_supported: texts({ example: ['authorization_code', 'refresh_token'] }),
  token_endpoint_auth_methods_supported: texts({ example: ['none'] }),
  revocation_endpoint_auth_methods_supported: texts({ example: ['none'] }),
  code_challenge_methods_supported: texts({ example: ['S256'] }),
  authorization_response_iss_parameter_supported: flag(),
  client_id_metadata_document_supported: flag(),
}) {}

/** A registered client (RFC 7591, 3.2.1). */
export class RegisteredClientView extends View({
  client_id: text(),
  client_id_issued_at: integer({ example: 1_795_000_000, description: 'In seconds' }),
  client_name: text({ example: 'Editor' }),
  redirect_uris: texts({ example: ['http://127.0.0.1/callback'] }),
  grant_types: texts({ example: ['authorization_code', 'refresh_token'] }),
  response_types: texts({ example: ['code'] }),
  token_endpoint_auth_method: oneOf(['none']),
}) {}

export class AskedPermissionView extends View({
  permission: text({ example: 'chat:chat:use' }),
  group: text({ example: 'chat' }),
  description: text({ example: 'Send messages, stop answers and vote on them' }),
}) {}

export class ConsentView extends View({
  name: text({ example: 'Editor', description: 'As the application calls itself' }),
  host: text({
    example: 'claude.ai',
    description: 'Where the person is led back to: a host, or the scheme of a program',
  }),
  isLocal: flag({ description: 'Whether that is the computer of the person' }),
  permissions: list(AskedPermissionView, {
    description: 'What the application asks for and the caller can give',
  }),
  problem: nullable(
    text({ description: 'Why the request cannot be approved; refusing it tells the application' }),
  ),
}) {}

export class ConsentAnswerView extends View({
  address: text({
    example: 'http://127.0.0.1:1234/callback?code=…',
    description: 'Where to lead the person',
  }),
}) {}

/** Tokens (RFC 6749, 5.1). */
export class TokenView extends View({
  access_token: text({ description: 'An API key' }),
  token_type: oneOf(['Bearer']),
  expires_in: integer({ example: 3_600, description: 'Seconds' }),
  refresh_token: text({ description: 'For one use' }),
  scope: text({ example: 'chat:chat:use' }),
}) {}

/** An error of OAuth (RFC 6749, 5.2). */
export class OAuthFailureView extends View({
  error: text({ example: 'invalid_grant' }),
  error_description: text({ example: 'The code is not valid.' }),
}) {}
