import { describe, expect, it } from '@jest/globals';
import { OutboundHttp } from '../../platform/outbound/index.js';
import {
  AdapterRegistry,
  chatAdapters,
  embeddingAdapters,
  rerankAdapters,
} from '../adapter.registries.js';

const http = new OutboundHttp({ allowedPrivateHosts: [] });
const chat = new AdapterRegistry(chatAdapters(http));
const embedding = new AdapterRegistry(embeddingAdapters(http));
const rerank = new AdapterRegistry(rerankAdapters(http));
const registries = { chat, embedding, rerank };

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
    ['custom_api', 'https://x.test', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'https://x.test/', 'https://x.test/v1/chat/completions'],
    ['custom_api', ' https://x.test/v1// ', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'http://x.test:8000/api/v3', 'http://x.test:8000/api/v3/chat/completions'],
    ['custom_api', 'HTTPS://X.test/v1', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'https://x.test/v1/chat/completions', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'https://x.test/v1/chat/completions/', 'https://x.test/v1/chat/completions'],
    [
      'custom_api',
      'https://x.test/api/v3/chat/completions',
      'https://x.test/api/v3/chat/completions',
    ],
    ['custom_api', 'https://x.test/chat/completions', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'https://x.test/v1//chat/completions', 'https://x.test/v1/chat/completions'],
    ['custom_api', 'http://[::1]:8000', 'http://[::1]:8000/v1/chat/completions'],
    ['custom_messages', 'https://x.test', 'https://x.test/v1/messages'],
    ['custom_messages', 'https://x.test/v1/messages', 'https://x.test/v1/messages'],
    ['custom_messages', 'https://x.test/anthropic', 'https://x.test/anthropic/messages'],
    ['openai', 'https://api.openai.com', 'https://api.openai.com/v1/chat/completions'],
    ['deepseek', 'https://api.deepseek.com', 'https://api.deepseek.com/v1/chat/completions'],
    ['zhipu', 'https://open.bigmodel.cn', 'https://open.bigmodel.cn/api/paas/v4/chat/completions'],
    [
      'zhipu',
      'https://open.bigmodel.cn/api/coding/paas/v4/',
      'https://open.bigmodel.cn/api/coding/paas/v4/chat/completions',
    ],
    ['xiaomi', 'https://api.xiaomimimo.com/v1', 'https://api.xiaomimimo.com/v1/chat/completions'],
    [
      'qianwen',
      'https://dashscope.aliyuncs.com',
      'https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions',
    ],
    ['minimax', 'https://api.minimax.io/v1', 'https://api.minimax.io/v1/chat/completions'],
    ['minimax', 'https://api.minimax.io', 'https://api.minimax.io/v1/chat/completions'],
    [
      'minimax',
      'https://api.minimax.io/anthropic/',
      'https://api.minimax.io/anthropic/v1/messages',
    ],
    [
      'minimax',
      'https://api.minimax.io/anthropic/v1',
      'https://api.minimax.io/anthropic/v1/messages',
    ],
    [
      'minimax',
      'https://api.minimax.io/anthropic/v1/messages',
      'https://api.minimax.io/anthropic/v1/messages',
    ],
    ['ppio', 'https://api.ppio.com', 'https://api.ppio.com/openai/v1/chat/completions'],
    ['ppio', 'https://api.ppio.com/openai//', 'https://api.ppio.com/openai/v1/chat/completions'],
    [
      'ppio',
      'https://api.ppio.com/v3/openai',
      'https://api.ppio.com/v3/openai/v1/chat/completions',
    ],
    ['ppio', 'https://api.ppio.com/openai/v1', 'https://api.ppio.com/openai/v1/chat/completions'],
    ['siliconflow', 'https://api.siliconflow.cn', 'https://api.siliconflow.cn/v1/chat/completions'],
    ['atlas', 'https://api.atlascloud.ai/v1', 'https://api.atlascloud.ai/v1/chat/completions'],
    ['ollama', 'http://127.0.0.1:11434', 'http://127.0.0.1:11434/api/chat'],
    ['ollama', 'http://127.0.0.1:11434//', 'http://127.0.0.1:11434/api/chat'],
    ['ollama', 'http://127.0.0.1:11434/api/chat', 'http://127.0.0.1:11434/api/chat'],
    ['ollama', 'http://127.0.0.1:11434/v1/', 'http://127.0.0.1:11434/api/chat'],
    ['ollama', 'http://127.0.0.1:11434/api', 'http://127.0.0.1:11434/api/chat'],
    ['ollama', 'https://gateway.test/local', 'https://gateway.test/local/api/chat'],
    ['custom_api', 'https://x.test/v1/embeddings', 'https://x.test/v1/chat/completions'],
    [
      'qianwen',
      'https://x.test/compatible-api/v1/reranks',
      'https://x.test/compatible-mode/v1/chat/completions',
    ],
    ['ollama', 'http://127.0.0.1:11434/api/embed', 'http://127.0.0.1:11434/api/chat'],
  ])('of %s at %s is %s', (code, address, url) => {
    expect(chat.get(code).endpoint(address)).toBe(url);
  });
});

describe('addresses that are refused', () => {
  it.each([
    ['', 'Enter the service address'],
    ['  ', 'Enter the service address'],
    ['ftp://x.test', 'valid http or https'],
    ['x.test/v1', 'valid http or https'],
    ['http://', 'valid http or https'],
    ['http:x.test', 'valid http or https'],
    ['(enter your address)', 'valid http or https'],
    ['https://user:secret@x.test', 'must not contain'],
    ['https://x.test/v1?key=1', 'must not contain'],
    ['https://x.test/v1#a', 'must not contain'],
  ])('"%s" is by every adapter', (address, message) => {
    for (const registry of Object.values(registries)) {
      for (const code of registry.codes()) {
        expect(() => registry.get(code).endpoint(address)).toThrow(message);
      }
    }
  });

  it.each([
    ['chat', 'custom_api', 'https://x.test/v1/messages'],
    ['chat', 'custom_api', 'https://x.test/v1/messages/'],
    ['chat', 'custom_messages', 'https://x.test/v1/chat/completions'],
    ['embedding', 'custom_api', 'https://x.test/v1/messages'],
    ['rerank', 'custom_api', 'https://x.test/v1/messages'],
  ] as const)('%s, %s, %s belongs to another protocol', (kind, code, address) => {
    expect(() => registries[kind].get(code).endpoint(address)).toThrow(
      'does not match the protocol',
    );
  });
});
