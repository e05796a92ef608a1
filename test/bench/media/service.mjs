// Plinth as it is built, with a model whose predictions are all completed.
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createApp } from '../../../dist/src/app.js';
import { loadConfig } from '../../../dist/src/platform/config/index.js';
import { Metrics } from '../../../dist/src/platform/observability/index.js';
import { answerAboutMemory } from './memory.mjs';

const PASSWORD = 'a-password-of-the-bench';
const CLIENT = 'e5cd7e4891bf95d1d19206ce24a7b32e';

const [{ host, port, ca }] = await once(process, 'message');
const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'));
process.once('exit', () => rmSync(folder, { recursive: true, force: true }));

const predictions = createServer((request, response) => {
  const id = request.url.split('/').at(-1);
  const outputs = [`https://${host}:${port}/${id}`];
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ code: 200, data: { id, status: 'completed', outputs } }));
}).listen(0, '127.0.0.1');
await once(predictions, 'listening');

const app = await createApp(
  loadConfig({
    PORT: '0',
    DATA_DIR: folder,
    DEMO: 'off',
    LOG_LEVEL: 'error',
    ADMIN_PASSWORD: PASSWORD,
    SECRET_KEY: 'a-secret-key-of-the-bench-with-32-characters',
    ALLOW_PRIVATE_MODEL_HOSTS: '*',
    MEDIA_CONTENT_HOSTS: `${host},${host}`,
  }),
  {
    media: {
      content: {
        port,
        ca,
        allowedPrivateHosts: ['127.0.0.1'],
        resolve: async () => [{ address: '127.0.0.1', family: 4 }],
      },
    },
  },
);
await app.listen(0, '127.0.0.1');
const own = app.getHttpServer().address().port;
const headers = await prepared();
// The gauge is what an operator sees.
const metrics = app.get(Metrics, { strict: false });
answerAboutMemory(async () =>
  Number(/^plinth_media_content_bytes (\d+)$/m.exec(await metrics.text())?.[1]),
);
process.send({ port: own, headers });

/** Signs in, makes the model, and answers the headers of a signed-in client. */
async function prepared() {
  const signedIn = { clientid: CLIENT };
  const call = async (path, body) => {
    const answer = await fetch(`http://127.0.0.1:${own}${path}`, {
      method: 'POST',
      headers: { ...signedIn, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const { code, msg, data } = await answer.json();
    if (code !== 200) throw new Error(`${path}: ${msg}`);
    return data;
  };
  const login = { tenantId: '000000', username: 'admin', password: PASSWORD, clientId: CLIENT };
  const { access_token: token } = await call('/auth/login', { ...login, grantType: 'password' });
  signedIn.authorization = `Bearer ${token}`;
  const providerCode = 'media_async';
  await call('/system/provider', { providerName: 'Predictions', providerCode });
  await call('/system/model', {
    providerCode,
    category: 'image',
    modelName: 'm',
    apiHost: `http://127.0.0.1:${predictions.address().port}`,
    apiKey: 'key',
  });
  return signedIn;
}
