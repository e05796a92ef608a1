import { endpointOf } from '../../address.js';
import type { ModelConnection } from '../../model-call.js';
import type { Vendor } from '../../vendors.js';
import type { ChatProtocol } from '../protocol.adapter.js';
import { toMessagesBody } from './messages.request.js';
import { MessagesStream, toCompletion } from './messages.response.js';

const DEFAULT_PROTOCOL_VERSION = '2023-06-01';

/** The messages protocol: POST {address}/messages with x-api-key and anthropic-version. */
export function messages(form: Vendor['address']): ChatProtocol {
  return {
    endpoint: (address) => endpointOf(address, { ...form, endpoint: '/messages' }),
    headers: headersOf,
    body: toMessagesBody,
    answerStream: (secrets, withThinking) => new MessagesStream(secrets, withThinking),
    toCompletion,
  };
}

function headersOf({ credential, protocolVersion }: ModelConnection): Record<string, string> {
  const key = credential?.trim() ?? '';
  return {
    'anthropic-version': protocolVersion?.trim() || DEFAULT_PROTOCOL_VERSION,
    ...(key !== '' && { 'x-api-key': key }),
  };
}
