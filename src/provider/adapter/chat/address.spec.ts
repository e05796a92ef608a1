import { describe, expect, test } from '@jest/globals';
import { OutboundHttp } from '../../../outbound/index.js';
import { AdapterRegistry } from '../adapter.registry.js';
import { chatAdapters } from './chat-adapters.js';

const adapters = new AdapterRegistry(chatAdapters(new OutboundHttp({ allowedPrivateHosts: [] })));
const endpoint = (code: string, address: string): string => adapters.get(code).endpoint(address);

describe('the URL that is called', () => {
  test.each([
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
  ])('%s %s', (code, address, url) => {
    expect(endpoint(code, address)).toBe(url);
  });
});

describe('addresses that are refused', () => {
  test.each([
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
  ])('%s by every adapter', (address, message) => {
    for (const code of adapters.codes()) expect(() => endpoint(code, address)).toThrow(message);
  });

  test.each([
    ['custom_api', 'https://x.test/v1/messages'],
    ['custom_api', 'https://x.test/v1/messages/'],
    ['custom_messages', 'https://x.test/v1/chat/completions'],
  ])('%s %s belongs to the other protocol', (code, address) => {
    expect(() => endpoint(code, address)).toThrow('does not match the protocol');
  });
});
