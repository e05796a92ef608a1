import { expect, it } from '@jest/globals';
import { OutboundHttp } from '../../platform/outbound/index.js';
import {
  ChatAdapterRegistry,
  EmbeddingAdapterRegistry,
  RerankAdapterRegistry,
} from '../../provider/index.js';
import { baseOfEndpoint } from './trial.js';

const http = new OutboundHttp({ allowedPrivateHosts: [] });
const adapters = {
  chat: new ChatAdapterRegistry(http),
  embedding: new EmbeddingAdapterRegistry(http),
  rerank: new RerankAdapterRegistry(http),
};

it.each([
  ['chat', 'custom_api', 'https://x.com', 'https://x.com/v1'],
  ['chat', 'custom_api', 'https://x.com/v1/chat/completions/', 'https://x.com/v1'],
  ['chat', 'custom_messages', 'https://x.com/v1/messages', 'https://x.com/v1'],
  ['chat', 'minimax', 'https://x.com/anthropic', 'https://x.com/anthropic/v1'],
  ['chat', 'ollama', 'http://x.com:11434/', 'http://x.com:11434'],
  ['embedding', 'custom_api', 'https://x.com/v1/embeddings/', 'https://x.com/v1'],
  ['embedding', 'qianwen', 'https://x.com', 'https://x.com/compatible-mode/v1'],
  ['embedding', 'ollama', 'http://x.com:11434/v1', 'http://x.com:11434'],
  ['rerank', 'custom_api', 'https://x.com/api/v3', 'https://x.com/api/v3'],
  ['rerank', 'qianwen', 'https://x.com', 'https://x.com/compatible-api/v1'],
] as const)('the base of %s models of %s at %s is %s', (kind, code, address, base) => {
  expect(baseOfEndpoint(adapters[kind].get(code).endpoint(address))).toBe(base);
});
