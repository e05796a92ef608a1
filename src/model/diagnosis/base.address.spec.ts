import { describe, expect, it } from '@jest/globals';
import { OutboundHttp } from '../../outbound/index.js';
import { ChatAdapterRegistry } from '../../provider/index.js';
import { baseOfChatEndpoint, embeddingBase, embeddingEndpoint } from './base.address.js';

const adapters = new ChatAdapterRegistry(new OutboundHttp({ allowedPrivateHosts: [] }));

describe('base addresses', () => {
  it.each([
    ['custom_api', 'https://x.com', 'https://x.com/v1'],
    ['custom_api', 'https://x.com/v1/chat/completions/', 'https://x.com/v1'],
    ['custom_messages', 'https://x.com/v1/messages', 'https://x.com/v1'],
    ['minimax', 'https://x.com/anthropic', 'https://x.com/anthropic/v1'],
    ['ollama', 'http://x.com:11434/', 'http://x.com:11434'],
  ])('of %s at %s is %s for chat', (code, address, base) => {
    expect(baseOfChatEndpoint(adapters.get(code).endpoint(address))).toBe(base);
  });

  it.each([
    ['custom_api', 'https://x.com', 'https://x.com/v1/embeddings'],
    ['custom_api', 'https://x.com/v1/embeddings/', 'https://x.com/v1/embeddings'],
    ['custom_api', 'https://x.com/api/v3', 'https://x.com/api/v3/embeddings'],
    ['qianwen', 'https://x.com', 'https://x.com/compatible-mode/v1/embeddings'],
    ['ollama', 'http://x.com:11434', 'http://x.com:11434/v1/embeddings'],
    [undefined, 'https://x.com/', 'https://x.com/v1/embeddings'],
    [undefined, 'https://x.com/api', 'https://x.com/api/embeddings'],
  ])('of %s at %s leads to %s for embeddings', (code, address, url) => {
    const adapter = code === undefined ? undefined : adapters.get(code);
    expect(embeddingEndpoint(embeddingBase(address, adapter))).toBe(url);
  });
});
