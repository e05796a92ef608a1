import { documents } from '../knowledge/corpus.mjs';
import { Client } from './client.mjs';

const DIMENSION = 64;
const EMBEDDING_MODEL = `sim-embed-${DIMENSION}`;
const HANDBOOK_DOCUMENTS = 100;
const PARSED = 2;

/** An answer of a second, and one that outlasts a fault. */
export const MODELS = { short: 'sim--chunks-20--delay-50', long: 'sim--chunks-100--delay-50' };

/** What an administrator sets up before anybody works: models, a key, a base that is searched and one that is filled. */
export async function settle(installation, { modelUrl }) {
  const admin = await Client.signIn(installation.url, installation.password);
  const provider = { providerName: 'Models', providerCode: 'custom_api' };
  await admin.call('POST', '/system/provider', provider);
  const model = { providerCode: 'custom_api', apiHost: `${modelUrl}/v1`, apiKey: 'sk-bench' };
  for (const modelName of Object.values(MODELS)) {
    await admin.call('POST', '/system/model', { ...model, category: 'chat', modelName });
  }
  await admin.call('POST', '/system/model', {
    ...model,
    category: 'vector',
    modelName: EMBEDDING_MODEL,
    modelDimension: DIMENSION,
  });
  const permissions = ['chat:chat:use'];
  const { data } = await admin.call('POST', '/system/apikey', { name: 'Bench', permissions });
  const handbook = await createBase(admin, 'Handbook');
  const texts = documents(HANDBOOK_DOCUMENTS, 1);
  await uploadAll(admin, handbook, texts);
  await parsedAll(admin, handbook, texts.length);
  const uploads = await createBase(admin, 'Uploads');
  return { admin, api: admin.withKey(data.key), handbook, texts, uploads };
}

export async function createBase(admin, name) {
  await admin.call('POST', '/system/info', {
    name,
    embeddingModel: EMBEDDING_MODEL,
    textBlockSize: 1_000,
    overlapChar: 0,
    similarityThreshold: 0,
    enableHybrid: 1,
  });
  const { rows } = await admin.call('GET', `/system/info/list?pageSize=100&name=${name}`);
  return rows.find((row) => row.name === name).id;
}

/** Uploads documents to a base; answers what the route says of each. */
export async function upload(admin, base, texts, { parse = true } = {}) {
  const form = new FormData();
  form.append('knowledgeId', String(base));
  form.append('autoParse', String(parse));
  for (const { name, text } of texts) form.append('file', new Blob([text]), name);
  const { data } = await admin.call('POST', '/system/attach/upload', form);
  const refused = data.find(({ id }) => !id);
  if (refused) throw new Error(`${refused.name}: ${refused.error}`);
  return data;
}

/** In requests of as many files as one may have. */
export async function uploadAll(admin, base, texts, how) {
  for (let start = 0; start < texts.length; start += 20) {
    await upload(admin, base, texts.slice(start, start + 20), how);
  }
}

async function parsedAll(admin, base, count) {
  for (;;) {
    const { rows } = await admin.call(
      'GET',
      `/system/attach/list?knowledgeId=${base}&pageSize=500`,
    );
    if (rows.filter(({ status }) => status === PARSED).length === count) return;
    await new Promise((done) => setTimeout(done, 500));
  }
}
