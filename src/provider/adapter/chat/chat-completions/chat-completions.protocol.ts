import { endpointOf, FAMILY_ENDPOINTS } from '../../address.js';
import type { AddressForm } from '../../address.js';
import { bearerOf } from '../../bearer.js';
import type { ChatProtocol } from '../protocol.adapter.js';
import { toChatCompletionsBody } from './chat-completions.request.js';
import type { ChatCompletionsDialect } from './chat-completions.request.js';
import { ChatCompletionsStream, toCompletion } from './chat-completions.response.js';

export interface ChatCompletionsOptions {
  readonly code: string;
  readonly label: string;
  readonly address: Omit<AddressForm, 'endpoint'>;
  readonly dialect: ChatCompletionsDialect;
}

/** The chat-completions protocol: POST {address}/chat/completions with a bearer key. */
export function chatCompletions(options: ChatCompletionsOptions): ChatProtocol {
  const { code, label, dialect } = options;
  const form = { ...options.address, endpoint: '/chat/completions', siblings: FAMILY_ENDPOINTS };
  return {
    code,
    label,
    endpoint: (address) => endpointOf(address, form),
    headers: ({ credential }) => bearerOf(credential),
    body: (call, stream) => toChatCompletionsBody(call, stream, dialect),
    mapping: (secrets, withThinking) => new ChatCompletionsStream(secrets, withThinking),
    toCompletion,
  };
}
