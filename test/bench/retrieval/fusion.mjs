import { mean, ndcg } from './scores.mjs';

const BEST = 10;
export const ALPHAS = [0.3, 0.4, 0.5, 0.6, 0.7];
/** Hits of each channel, for the effect of the depth; the last one is what the service uses. */
export const DEPTHS = [10, 30, 50, 100, 600];
export const THRESHOLDS = [0.5, 0.4, 0.3, 0.2];
const DEPTH = DEPTHS.at(-1);
const WITHOUT = new AbortController().signal;

/** What vector search and hybrid search find in a test set that `load` has written to the keyword index. */
export async function measureFusion(app, { index, scope, idOf }, dataset, embeddings) {
  const { VectorStores } = await import('../../../dist/src/vector-store/index.js');
  const { candidatesOf } = await import('../../../dist/src/retrieval/candidates.js');
  const store = app.get(VectorStores).default();
  const entries = [...idOf].map(([fragmentId, id]) => ({
    fragmentId,
    attachmentId: fragmentId,
    vector: embeddings.documents.get(id),
  }));
  await store.upsert(scope, entries, WITHOUT);

  const scores = new Map();
  const note = (name, value) => {
    const values = scores.get(name);
    if (values) values.push(value);
    else scores.set(name, [value]);
  };
  for (const { id, text } of dataset.queries) {
    const query = { vector: embeddings.queries.get(id), limit: DEPTH };
    const vector = await store.search(scope, query, WITHOUT);
    const keyword = await index.search(scope, text, DEPTH);
    const relevant = dataset.relevant.get(id);
    const idsOf = (settings, depth = DEPTH) => {
      const found = { vector: vector.slice(0, depth), keyword: keyword.slice(0, depth) };
      const given = { threshold: 0, enableHybrid: true, hybridAlpha: 0.5, candidates: BEST };
      const { kept } = candidatesOf(found, { ...given, ...settings });
      return kept.map(({ fragmentId }) => idOf.get(fragmentId));
    };
    const score = (settings, depth) => ndcg(idsOf(settings, depth), relevant);
    note('keyword', score({ hybridAlpha: 1 }));
    note('vector', score({ enableHybrid: false }));
    for (const hybridAlpha of ALPHAS) note(`alpha ${hybridAlpha}`, score({ hybridAlpha }));
    for (const depth of DEPTHS) note(`depth ${depth}`, score({}, depth));
    const [best] = idsOf({ enableHybrid: false });
    for (const threshold of THRESHOLDS) {
      const isEmpty = idsOf({ enableHybrid: false, threshold }).length === 0;
      note(`empty ${threshold}`, Number(isEmpty));
      note(`hidden ${threshold}`, Number(isEmpty && relevant.has(best)));
      note(`threshold ${threshold}`, score({ threshold }));
      note(`vector ${threshold}`, score({ enableHybrid: false, threshold }));
    }
  }
  const means = Object.fromEntries([...scores].map(([name, values]) => [name, mean(values)]));
  for (const [name, values] of scores) {
    if (/^(empty|hidden)/.test(name)) means[name] = values.reduce((sum, value) => sum + value, 0);
  }
  return means;
}
