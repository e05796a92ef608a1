import { endpointOf, FAMILY_ENDPOINTS } from '../../address.js';
import { bearerOf } from '../../bearer.js';
import type { Vendor } from '../../vendors.js';
import type { ChatProtocol } from '../protocol.adapter.js';
import { toChatCompletionsBody } from './chat-completions.request.js';
import type { ChatCompletionsDialect } from './chat-completions.request.js';
import { ChatCompletionsStream, toCompletion } from './chat-completions.response.js';

export interface ChatCompletionsPreset extends Vendor {
  readonly dialect: ChatCompletionsDialect;
}

/** The chat-completions protocol: POST {address}/chat/completions with a bearer key. */
export function chatCompletions({
  address: own,
  dialect,
}: Omit<ChatCompletionsPreset, 'code' | 'label'>): ChatProtocol {
  const form = { ...own, endpoint: '/chat/completions', siblings: FAMILY_ENDPOINTS };
  return {
    endpoint: (address) => endpointOf(address, form),
    headers: ({ credential }) => bearerOf(credential),
    body: (call, stream) => toChatCompletionsBody(call, stream, dialect),
    answerStream: (secrets, withThinking) => new ChatCompletionsStream(secrets, withThinking),
    toCompletion,
  };
}
