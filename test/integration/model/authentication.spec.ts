import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { ProxyServer } from '../../support/proxy-server.js';
import type { Session } from '../../support/session.js';

const ENTRA = { tenantId: 't', clientId: 'c', clientSecret: 'a-client-secret' };
const NOT_AVAILABLE = /^The identity of this host is not available to your tenant\./;

let plinth: Plinth;
let admin: Session;
const proxy = new ProxyServer();
const seen: IncomingHttpHeaders[] = [];
const service = createServer((request, response) => {
  seen.push(request.headers);
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' }).end(
    JSON.stringify({
      choices: [{ message: { role: 'assistant', content: 'hi' }, finish_reason: 'stop' }],
    }),
  );
});

beforeAll(async () => {
  service.listen(0, '127.0.0.1');
  await Promise.all([once(service, 'listening'), proxy.start()]);
  proxy.targetPort = (service.address() as AddressInfo).port;
  plinth = await Plinth.start({
    HTTP_PROXY: proxy.url,
    HTTPS_PROXY: proxy.url,
    OUTBOUND_ALLOWED_HOSTS: '*.vendor.test,*.azure.com',
  });
  admin = await plinth.signIn();
  for (const code of ['custom_api', 'azure']) await createProvider(admin, code);
});

beforeEach(() => {
  proxy.reset();
  seen.length = 0;
});

afterAll(async () => {
  await plinth.stop();
  await proxy.close();
  service.closeAllConnections();
  service.close();
});

const fields = {
  providerCode: 'custom_api',
  category: 'chat',
  apiHost: 'http://api.vendor.test/v1',
};

describe('how a model authenticates', () => {
  it('is the header of Azure for its provider, through the proxy', async () => {
    const id = await createModel(admin, {
      ...fields,
      providerCode: 'azure',
      modelName: 'deployed',
      apiKey: 'azure-key-12345',
    });
    const { data } = await admin.post<{ ok: boolean; steps: { step: string }[] }>(
      `/system/model/${id}/test`,
      {},
    );
    expect(data).toMatchObject({ ok: true });
    expect(data.steps.map(({ step }) => step)).toEqual(['address', 'proxy', 'http', 'answer']);
    expect(seen[0]).toMatchObject({ 'api-key': 'azure-key-12345', host: 'api.vendor.test' });
    expect(seen[0]).not.toHaveProperty('authorization');
  });

  it('is a proxy’s fault where the proxy asks for credentials', async () => {
    const id = await createModel(admin, { ...fields, modelName: 'behind', apiKey: 'key-12345' });
    proxy.behaviour.login = 'user:password';
    const { data } = await admin.post<object>(`/system/model/${id}/test`, {});
    expect(data).toMatchObject({
      ok: false,
      fault: 'proxy',
      advice: 'The proxy asks for credentials (407). Check HTTP_PROXY.',
    });
  });

  it.each([
    [
      'entra',
      'secret',
      /^The credential for entra must be JSON with tenantId, clientId, clientSecret\.$/,
    ],
    ['google', '{}', /^The credential for google must be the JSON key of a service account/],
    [
      'aws',
      '{"accessKeyId":"a"}',
      /^The credential for aws must be JSON with accessKeyId, secretAccessKey\.$/,
    ],
    ['entra', '', NOT_AVAILABLE],
    ['aws', '', NOT_AVAILABLE],
  ])('is refused for %s with %j', async (authType, apiKey, message) => {
    const answer = await admin.post('/system/model', {
      ...fields,
      modelName: `refused-${authType}`,
      authType,
      apiKey,
    });
    expect(answer.code).toBe(400);
    expect(answer.msg).toMatch(message);
  });

  it('changes with a new credential alone, and shows none', async () => {
    const id = await createModel(admin, {
      ...fields,
      modelName: 'changing',
      authType: 'entra',
      apiKey: JSON.stringify(ENTRA, undefined, 2),
    });
    const kept = await admin.put('/system/model', { id, authType: 'bearer' });
    expect(kept.msg).toMatch(/^The stored key was entered for another authType\./);
    const { data } = await admin.get<object>(`/system/model/${id}`);
    expect(data).toMatchObject({ authType: 'entra', hasApiKey: true });
    expect(JSON.stringify(data)).not.toContain(ENTRA.clientSecret);
    const changed = await admin.put('/system/model', { id, authType: 'bearer', apiKey: 'new-key' });
    expect(changed).toMatchObject({ code: 200, data: { authType: 'bearer' } });
  });

  it('is refused at a host that the operator has not listed', async () => {
    const answer = await admin.post('/system/model', {
      ...fields,
      modelName: 'elsewhere',
      apiHost: 'https://other.test/v1',
    });
    expect(answer.msg).toContain('OUTBOUND_ALLOWED_HOSTS');
  });
});
