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
    ['azure', 'https://x.openai.azure.com', 'https://x.openai.azure.com/openai/v1/embeddings'],
    ['cohere', 'https://api.cohere.ai', 'https://api.cohere.ai/compatibility/v1/embeddings'],
    ['cohere', 'https://api.cohere.com/v2', 'https://api.cohere.com/compatibility/v1/embeddings'],
    ['gemini', 'https://g.test', 'https://g.test/v1beta/openai/embeddings'],
    ['voyage', 'https://api.voyageai.com', 'https://api.voyageai.com/v1/embeddings'],
    ['jina', 'https://api.jina.ai/v1/embeddings', 'https://api.jina.ai/v1/embeddings'],
    ['mistral', 'https://api.mistral.ai/v1', 'https://api.mistral.ai/v1/embeddings'],
    ['fireworks', 'https://f.test', 'https://f.test/inference/v1/embeddings'],
    ['volcengine', 'https://v.test', 'https://v.test/api/v3/embeddings'],
    ['openrouter', 'https://o.test', 'https://o.test/api/v1/embeddings'],
    ['tei', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1/embeddings'],
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
    ['custom_api', 'https://x.test/rerank/', 'https://x.test/rerank'],
    ['cohere', 'https://api.cohere.com', 'https://api.cohere.com/v2/rerank'],
    ['cohere', 'https://api.cohere.ai/compatibility/v1', 'https://api.cohere.ai/v2/rerank'],
    ['jina', 'https://api.jina.ai', 'https://api.jina.ai/v1/rerank'],
    ['voyage', 'https://api.voyageai.com/v1', 'https://api.voyageai.com/v1/rerank'],
    ['tei', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/rerank'],
    ['tei', 'http://127.0.0.1:8080/v1', 'http://127.0.0.1:8080/rerank'],
    ['infinity', 'http://127.0.0.1:7997/', 'http://127.0.0.1:7997/rerank'],
    ['vllm', 'http://127.0.0.1:8000/v1', 'http://127.0.0.1:8000/v1/rerank'],
    ['together', 'https://api.together.xyz', 'https://api.together.xyz/v1/rerank'],
    [
      'qianwen',
      'https://x.test/api/v1/services/rerank/text-rerank/text-rerank',
      'https://x.test/api/v1/services/rerank/text-rerank/text-rerank',
    ],
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
    ['custom_messages', 'https://x.test/model', 'https://x.test/model/v1/messages'],
    [
      'custom_messages',
      'https://bedrock-runtime.us-east-1.amazonaws.com',
      'https://bedrock-runtime.us-east-1.amazonaws.com/model',
    ],
    [
      'bedrock',
      'https://bedrock-runtime.us-east-1.amazonaws.com/model/anthropic.claude/invoke',
      'https://bedrock-runtime.us-east-1.amazonaws.com/model',
    ],
    [
      'bedrock',
      'https://bedrock-runtime.us-east-1.amazonaws.com',
      'https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1/chat/completions',
    ],
    [
      'vertex',
      'https://v.test/v1/projects/p/locations/l/publishers/anthropic/',
      'https://v.test/v1/projects/p/locations/l/publishers/anthropic/models',
    ],
    [
      'vertex',
      'https://v.test/v1/projects/p/locations/l/publishers/anthropic/models/c@1:streamRawPredict',
      'https://v.test/v1/projects/p/locations/l/publishers/anthropic/models',
    ],
    ['custom_messages', 'https://x.test/v1/messages', 'https://x.test/v1/messages'],
    ['custom_messages', 'https://x.test/anthropic', 'https://x.test/anthropic/v1/messages'],
    ['custom_messages', 'https://x.test/gateway', 'https://x.test/gateway/v1/messages'],
    ['custom_messages', 'https://x.test/api/v3/', 'https://x.test/api/v3/messages'],
    ['custom_messages', 'https://x.test/own/messages', 'https://x.test/own/messages'],
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
    ['openai_responses', 'https://api.openai.com', 'https://api.openai.com/v1/responses'],
    ['openai', 'https://api.openai.com/v1/responses/', 'https://api.openai.com/v1/responses'],
    ['custom_api', 'https://x.test/responses', 'https://x.test/v1/responses'],
    ['custom_responses', 'https://x.test/v1/chat/completions', 'https://x.test/v1/responses'],
    [
      'custom_responses',
      'https://x.openai.azure.com/openai/v1',
      'https://x.openai.azure.com/openai/v1/responses',
    ],
    [
      'azure',
      'https://x.openai.azure.com/openai/responses?api-version=2025-04-01-preview',
      'https://x.openai.azure.com/openai/responses?api-version=2025-04-01-preview',
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
    [
      'deepseek',
      'https://api.deepseek.com/anthropic',
      'https://api.deepseek.com/anthropic/v1/messages',
    ],
    [
      'zhipu',
      'https://open.bigmodel.cn/api/anthropic',
      'https://open.bigmodel.cn/api/anthropic/v1/messages',
    ],
    ['zai', 'https://api.z.ai', 'https://api.z.ai/api/paas/v4/chat/completions'],
    ['zai', 'https://api.z.ai/api/anthropic', 'https://api.z.ai/api/anthropic/v1/messages'],
    ['qianwen', 'https://x.test/apps/anthropic/', 'https://x.test/apps/anthropic/v1/messages'],
    [
      'qianwen',
      'https://x.test/compatible-mode',
      'https://x.test/compatible-mode/v1/chat/completions',
    ],
    ['moonshot', 'https://api.moonshot.cn', 'https://api.moonshot.cn/v1/chat/completions'],
    [
      'moonshot',
      'https://api.moonshot.ai/anthropic',
      'https://api.moonshot.ai/anthropic/v1/messages',
    ],
    ['moonshot', 'https://api.kimi.com/coding/', 'https://api.kimi.com/coding/v1/messages'],
    [
      'moonshot',
      'https://api.kimi.com/coding/v1',
      'https://api.kimi.com/coding/v1/chat/completions',
    ],
    [
      'siliconflow',
      'https://api.siliconflow.cn/v1/messages',
      'https://api.siliconflow.cn/v1/messages',
    ],
    [
      'azure',
      'https://x.openai.azure.com',
      'https://x.openai.azure.com/openai/v1/chat/completions',
    ],
    [
      'azure',
      'https://x.openai.azure.com/openai/',
      'https://x.openai.azure.com/openai/v1/chat/completions',
    ],
    ['mistral', 'https://api.mistral.ai', 'https://api.mistral.ai/v1/chat/completions'],
    ['groq', 'https://api.groq.com', 'https://api.groq.com/openai/v1/chat/completions'],
    ['groq', 'https://api.groq.com/openai', 'https://api.groq.com/openai/v1/chat/completions'],
    ['openrouter', 'https://openrouter.ai', 'https://openrouter.ai/api/v1/chat/completions'],
    ['openrouter', 'https://openrouter.ai/api', 'https://openrouter.ai/api/v1/chat/completions'],
    ['xai', 'https://api.x.ai', 'https://api.x.ai/v1/chat/completions'],
    ['together', 'https://api.together.xyz', 'https://api.together.xyz/v1/chat/completions'],
    [
      'fireworks',
      'https://api.fireworks.ai',
      'https://api.fireworks.ai/inference/v1/chat/completions',
    ],
    [
      'gemini',
      'https://generativelanguage.googleapis.com',
      'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    ],
    [
      'gemini',
      'https://generativelanguage.googleapis.com/v1beta/openai/',
      'https://generativelanguage.googleapis.com/v1beta/openai/chat/completions',
    ],
    [
      'volcengine',
      'https://ark.cn-beijing.volces.com',
      'https://ark.cn-beijing.volces.com/api/v3/chat/completions',
    ],
    ['vllm', 'http://127.0.0.1:8000', 'http://127.0.0.1:8000/v1/chat/completions'],
    ['sglang', 'http://127.0.0.1:30000/v1', 'http://127.0.0.1:30000/v1/chat/completions'],
    ['llamacpp', 'http://127.0.0.1:8080', 'http://127.0.0.1:8080/v1/chat/completions'],
    ['lmstudio', 'http://127.0.0.1:1234/api/v0', 'http://127.0.0.1:1234/v1/chat/completions'],
    ['anthropic', 'https://api.anthropic.com', 'https://api.anthropic.com/v1/messages'],
    ['anthropic', 'https://api.anthropic.com/v1/messages', 'https://api.anthropic.com/v1/messages'],
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

/** The bases that vendors document, for both protocols and whichever of the two codes of a service of one's own. */
describe('a documented base of a vendor', () => {
  it.each([
    // DeepSeek
    [
      'https://d.test/anthropic',
      'https://d.test/v1/chat/completions',
      'https://d.test/anthropic/v1/messages',
    ],
    // DashScope
    [
      'https://q.test/compatible-mode/',
      'https://q.test/compatible-mode/v1/chat/completions',
      'https://q.test/apps/anthropic/v1/messages',
    ],
    [
      'https://q.test/compatible-mode/v1',
      'https://q.test/compatible-mode/v1/chat/completions',
      'https://q.test/apps/anthropic/v1/messages',
    ],
    [
      'https://q.test/apps/anthropic',
      'https://q.test/compatible-mode/v1/chat/completions',
      'https://q.test/apps/anthropic/v1/messages',
    ],
    // Zhipu, Z.AI
    [
      'https://z.test/api/paas/v4/',
      'https://z.test/api/paas/v4/chat/completions',
      'https://z.test/api/anthropic/v1/messages',
    ],
    [
      'https://z.test/api/coding/paas/v4',
      'https://z.test/api/coding/paas/v4/chat/completions',
      'https://z.test/api/anthropic/v1/messages',
    ],
    [
      'https://z.test/api/paas',
      'https://z.test/api/paas/v4/chat/completions',
      'https://z.test/api/anthropic/v1/messages',
    ],
    [
      'https://z.test/api/anthropic/v1',
      'https://z.test/api/paas/v4/chat/completions',
      'https://z.test/api/anthropic/v1/messages',
    ],
    // Kimi
    [
      'https://k.test/coding/',
      'https://k.test/coding/v1/chat/completions',
      'https://k.test/coding/v1/messages',
    ],
    [
      'https://k.test/coding/v1',
      'https://k.test/coding/v1/chat/completions',
      'https://k.test/coding/v1/messages',
    ],
    // Volcano Ark
    [
      'https://v.test/api/coding',
      'https://v.test/api/coding/v3/chat/completions',
      'https://v.test/api/coding/v1/messages',
    ],
    [
      'https://v.test/api/v3',
      'https://v.test/api/v3/chat/completions',
      'https://v.test/api/v3/messages',
    ],
    // OpenRouter, Groq, Fireworks
    [
      'https://o.test/api/v1',
      'https://o.test/api/v1/chat/completions',
      'https://o.test/api/v1/messages',
    ],
    [
      'https://g.test/openai/v1',
      'https://g.test/openai/v1/chat/completions',
      'https://g.test/openai/v1/messages',
    ],
    [
      'https://f.test/inference/v1',
      'https://f.test/inference/v1/chat/completions',
      'https://f.test/inference/v1/messages',
    ],
  ])('%s is called at %s and %s', (address, completions, messages) => {
    expect(chat.get('custom_api').endpoint(address)).toBe(completions);
    expect(chat.get('custom_messages').endpoint(address)).toBe(messages);
  });

  it.each([
    ['/anthropic', '/v1/embeddings', '/v1/rerank'],
    ['/api/anthropic', '/api/paas/v4/embeddings', '/api/paas/v4/rerank'],
    ['/v1beta/openai', '/v1beta/openai/embeddings', '/v1beta/openai/rerank'],
    ['/v1beta', '/v1beta/openai/embeddings', '/v1beta/openai/rerank'],
    ['/v1/models', '/v1/embeddings', '/v1/rerank'],
  ])('%s is called at %s and %s for other kinds of models', (path, embeddings, ranking) => {
    const at = (url: string): string => new URL(url).pathname;
    expect(at(embedding.get('custom_api').endpoint(`https://x.test${path}`))).toBe(embeddings);
    expect(at(rerank.get('custom_api').endpoint(`https://x.test${path}`))).toBe(ranking);
  });

  it.each([
    ['qianwen', '/apps/anthropic', '/compatible-api/v1/reranks'],
    ['qianwen', '/compatible-mode', '/compatible-api/v1/reranks'],
  ])('of %s at %s leads to its rerank models at %s', (code, path, ranking) => {
    expect(rerank.get(code).endpoint(`https://x.test${path}`)).toBe(`https://x.test${ranking}`);
  });
});

describe('the query of an address', () => {
  const deployment = 'https://a.test/openai/deployments/gpt';
  const version = '?api-version=2024-10-21';

  it.each([
    ['custom_api', `${deployment}${version}`],
    ['custom_api', `${deployment}/chat/completions${version}`],
    ['azure', `${deployment}/${version}`],
  ])('of %s at %s stays behind the endpoint', (code, address) => {
    expect(chat.get(code).endpoint(address)).toBe(`${deployment}/chat/completions${version}`);
    expect(embedding.get(code).endpoint(address)).toBe(`${deployment}/embeddings${version}`);
  });

  it('stays behind that of messages, too', () => {
    const url = chat.get('custom_messages').endpoint('https://x.test/v1/messages?beta=true');
    expect(url).toBe('https://x.test/v1/messages?beta=true');
  });

  it.each(['key', 'api_key', 'access_token', 'subscription-key', 'sig', 'X-Amz-Signature'])(
    'may not hold a credential in %s',
    (name) => {
      expect(() => chat.get('custom_api').endpoint(`https://x.test/v1?${name}=1`)).toThrow(
        'a key in its query',
      );
    },
  );
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
