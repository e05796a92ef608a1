import {
  AsSent,
  Given,
  Input,
  integer,
  object,
  oneOf,
  text,
  texts,
  View,
} from '../platform/http/index.js';

/** A message of JSON-RPC, which the SDK of the protocol checks. */
@AsSent()
export class McpMessageBody extends Input({
  jsonrpc: Given({ type: 'string', enum: ['2.0'] }),
  id: Given({ type: 'string' }, { description: 'Absent for a notification' }),
  method: Given({ type: 'string' }, { example: 'tools/list' }),
  params: Given({ type: 'object', additionalProperties: true }),
}) {}

/** Metadata of a protected resource (RFC 9728). */
export class ResourceMetadataView extends View({
  resource: text({ example: 'https://ai.example.com/mcp' }),
  resource_name: text({ example: 'Plinth' }),
  authorization_servers: texts({ example: ['https://ai.example.com'] }),
  scopes_supported: texts({ example: ['chat:chat:use'] }),
  bearer_methods_supported: texts({ example: ['header'] }),
}) {}

class McpErrorView extends View({
  code: integer({ example: -32_000 }),
  message: text(),
}) {}

/** A refusal before a message is answered, with its HTTP status. */
export class McpFailureView extends View({
  jsonrpc: oneOf(['2.0']),
  error: object(McpErrorView),
}) {}
