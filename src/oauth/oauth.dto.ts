import { Flag, Input, Text, Texts } from '../platform/http/index.js';

const MAX_ADDRESS_CHARS = 2_000;

/** Metadata of a client (RFC 7591, 2). Other fields are not needed. */
export class RegisterClientDto extends Input({
  redirect_uris: Texts({
    max: MAX_ADDRESS_CHARS,
    maxItems: 10,
    example: ['http://127.0.0.1/callback'],
    description: 'Addresses with https, of this computer (any port), or of a scheme of the client',
  }),
  client_name: Text({ optional: true, cut: 100, example: 'Editor' }),
}) {}

/** An authorization request (RFC 6749, 4.1.1, with PKCE and resource indicators). */
const authorizationFields = {
  response_type: Text({ optional: true, max: 100, example: 'code' }),
  client_id: Text({
    max: MAX_ADDRESS_CHARS,
    description: 'Of the registration, or the https address of a client id metadata document',
  }),
  redirect_uri: Text({ max: MAX_ADDRESS_CHARS, example: 'http://127.0.0.1:1234/callback' }),
  scope: Text({ optional: true, max: 4_000, example: 'chat:chat:use' }),
  state: Text({ optional: true, max: 4_000 }),
  code_challenge: Text({ optional: true, max: 200 }),
  code_challenge_method: Text({ optional: true, max: 20, example: 'S256' }),
  resource: Text({
    optional: true,
    max: MAX_ADDRESS_CHARS,
    example: 'https://ai.example.com/mcp',
  }),
};

export class AuthorizationQuery extends Input(authorizationFields) {}

export class ConsentDto extends Input({
  ...authorizationFields,
  approve: Flag({ description: 'false: the client is told that the person refuses' }),
  permissions: Texts({
    optional: true,
    max: 100,
    maxItems: 100,
    example: ['chat:chat:use'],
    description: 'The chosen ones of those that the application asks for',
  }),
}) {}

export class TokenDto extends Input({
  grant_type: Text({ max: 100, example: 'authorization_code' }),
  client_id: Text({ optional: true, max: MAX_ADDRESS_CHARS }),
  code: Text({ optional: true, max: 200 }),
  redirect_uri: Text({ optional: true, max: MAX_ADDRESS_CHARS }),
  code_verifier: Text({ optional: true, max: 200 }),
  refresh_token: Text({ optional: true, max: 200 }),
  scope: Text({ optional: true, max: 4_000 }),
  resource: Text({ optional: true, max: MAX_ADDRESS_CHARS }),
}) {}

export class RevokeTokenDto extends Input({
  token: Text({ max: 2_000, description: 'An access token or a refresh token' }),
  client_id: Text({ optional: true, max: MAX_ADDRESS_CHARS }),
}) {}
