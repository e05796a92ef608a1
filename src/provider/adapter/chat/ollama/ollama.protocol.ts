import { endpointOf, LOCAL_ENDPOINTS } from '../../address.js';
import type { ChatProtocol } from '../protocol.adapter.js';
import { toOllamaBody } from './ollama.request.js';
import { OllamaStream, toCompletion } from './ollama.response.js';

const ADDRESS = {
  endpoint: '/api/chat',
  siblings: LOCAL_ENDPOINTS,
  prefix: '',
  // The bases of its other interfaces, which people copy from examples.
  endings: { '/v1': '', '/api': '' },
};

/** Ollama's own protocol: POST {address}/api/chat, answers as JSON lines. Reads no key. */
export const ollama: ChatProtocol = {
  endpoint: (address) => endpointOf(address, ADDRESS),
  headers: () => ({}),
  body: toOllamaBody,
  answerStream: (secrets, withThinking) => new OllamaStream(secrets, withThinking),
  toCompletion,
};
