import { expect, test } from '@jest/globals';
import { Test } from '@nestjs/testing';
import { CONFIG, ConfigModule, loadConfig } from '../config/index.js';
import { OutboundHttp, OutboundModule } from './index.js';

test('the client follows the configuration and is closed on shutdown', async () => {
  const config = loadConfig({
    ALLOW_PRIVATE_MODEL_HOSTS: '10.0.0.0/8',
    SECRET_KEY: 'x'.repeat(32),
  });
  const module = await Test.createTestingModule({
    imports: [ConfigModule.for(config), OutboundModule],
  }).compile();
  await module.init();
  const http = module.get(OutboundHttp);
  expect(module.get<unknown>(CONFIG)).toBe(config);
  expect(() => http.assertAddressAllowed('http://10.0.0.1/')).not.toThrow();
  expect(() => http.assertAddressAllowed('http://192.168.0.1/')).toThrow(
    'ALLOW_PRIVATE_MODEL_HOSTS',
  );
  await module.close();
  const call = http.request('http://10.0.0.1/', {
    method: 'GET',
    headers: {},
    signal: new AbortController().signal,
    timeouts: { connectMs: 100, idleMs: 100 },
  });
  await expect(call).rejects.toMatchObject({ kind: 'aborted' });
});
