import { describe, expect, it } from '@jest/globals';
import { OutboundHttp } from '../../outbound/index.js';
import { AdapterRegistry } from './adapter.registry.js';
import { chatAdapters } from './chat/chat-adapters.js';
import { embeddingAdapters } from './embedding/embedding-adapters.js';
import { rerankAdapters } from './rerank/rerank-adapters.js';

const http = new OutboundHttp({ allowedPrivateHosts: [] });
const chat = new AdapterRegistry(chatAdapters(http));
const embedding = new AdapterRegistry(embeddingAdapters(http));
const rerank = new AdapterRegistry(rerankAdapters(http));

describe('the URL of embedding models', () => {
  it.each([
    ['custom_api', 'https://x.test', 'https://x.test/v1/embeddings'],
    ['custom_api', ' https://x.test/api/v3// ', 'https://x.test/api/v3/embeddings'],
    ['custom_api', 'https://x.test/v1/embeddings/', 'https://x.test/v1/embeddings'],
    ['custom_api', 'https://x.test/v1/chat/completions', 'https://x.test/v1/embeddings'],
    ['custom_api', 'https://x.test/embeddings', 'https://x.test/v1/embeddings'],
    ['custom_api', 'https://x.test/v1/rerank', 'https://x.test/v1/embeddings'],
    ['openai', 'https://api.openai.com', 'https://api.openai.com/v1/embeddings'],
    ['zhipu', 'https://open.bigmodel.cn', 'https://open.bigmodel.cn/api/paas/v4/embeddings'],
    ['qianwen', 'https://x.test', 'https://x.test/compatible-mode/v1/embeddings'],
    [
      'qianwen',
      'https://x.test/compatible-api/v1/reranks',
      'https://x.test/compatible-mode/v1/embeddings',
    ],
    ['alibailian', 'https://x.test', 'https://x.test/compatible-mode/v1/embeddings'],
    ['siliconflow', 'https://api.siliconflow.cn', 'https://api.siliconflow.cn/v1/embeddings'],
    ['ppio', 'https://api.ppio.com/openai', 'https://api.ppio.com/openai/v1/embeddings'],
    ['ollama', 'http://127.0.0.1:11434/', 'http://127.0.0.1:11434/api/embed'],
    ['ollama', 'http://127.0.0.1:11434/v1', 'http://127.0.0.1:11434/api/embed'],
    ['ollama', 'http://127.0.0.1:11434/api/embed', 'http://127.0.0.1:11434/api/embed'],
    ['ollama', 'http://127.0.0.1:11434/api/embeddings', 'http://127.0.0.1:11434/api/embed'],
    ['ollama', 'http://127.0.0.1:11434/v1/embeddings', 'http://127.0.0.1:11434/api/embed'],
    ['ollama', 'http://127.0.0.1:11434/api/chat', 'http://127.0.0.1:11434/api/embed'],
  ])('of %s at %s is %s', (code, address, url) => {
    expect(embedding.get(code).endpoint(address)).toBe(url);
  });
});

describe('the URL of rerank models', () => {
  it.each([
    ['custom_api', 'https://x.test', 'https://x.test/v1/rerank'],
    ['custom_api', 'https://x.test/v1/rerank', 'https://x.test/v1/rerank'],
    ['custom_api', 'https://x.test/v1/reranks', 'https://x.test/v1/rerank'],
    ['custom_api', 'https://x.test/v1/embeddings', 'https://x.test/v1/rerank'],
    ['siliconflow', 'https://api.siliconflow.cn', 'https://api.siliconflow.cn/v1/rerank'],
    ['siliconflow', 'https://api.siliconflow.cn/v1/rerank', 'https://api.siliconflow.cn/v1/rerank'],
    ['qianwen', 'https://x.test', 'https://x.test/compatible-api/v1/reranks'],
    ['qianwen', 'https://x.test/compatible-mode/v1', 'https://x.test/compatible-api/v1/reranks'],
    [
      'qianwen',
      'https://x.test/compatible-api/v1/reranks/',
      'https://x.test/compatible-api/v1/reranks',
    ],
    ['alibailian', 'https://x.test', 'https://x.test/compatible-api/v1/reranks'],
    ['zhipu', 'https://open.bigmodel.cn', 'https://open.bigmodel.cn/api/paas/v4/rerank'],
  ])('of %s at %s is %s', (code, address, url) => {
    expect(rerank.get(code).endpoint(address)).toBe(url);
  });
});

describe('the URL of chat models', () => {
  it.each([
    ['custom_api', 'https://x.test/v1/embeddings', 'https://x.test/v1/chat/completions'],
    [
      'qianwen',
      'https://x.test/compatible-api/v1/reranks',
      'https://x.test/compatible-mode/v1/chat/completions',
    ],
    ['ollama', 'http://127.0.0.1:11434/api/embed', 'http://127.0.0.1:11434/api/chat'],
  ])('of %s at the pasted %s is %s', (code, address, url) => {
    expect(chat.get(code).endpoint(address)).toBe(url);
  });
});

it.each(['', 'x.test/v1', 'ftp://x.test', 'https://user@x.test', 'https://x.test/v1?key=1'])(
  'the address "%s" is refused by every embedding and rerank adapter',
  (address) => {
    for (const registry of [embedding, rerank]) {
      for (const code of registry.codes()) {
        expect(() => registry.get(code).endpoint(address)).toThrow(/service address/);
      }
    }
  },
);

it('an address of the messages protocol is refused by the custom adapters', () => {
  for (const registry of [embedding, rerank]) {
    const endpoint = () => registry.get('custom_api').endpoint('https://x.test/v1/messages');
    expect(endpoint).toThrow('does not match the protocol');
  }
});
