import { makeKnowledge } from './stores.mjs';
import { mean, ndcg, percentile } from './scores.mjs';

const BEST = 10;
/** As many as hybrid search takes from each channel when it has to answer ten. */
const CANDIDATES = 30;
const WARM_UP = 25;

/** What the keyword channel finds in a test set that `load` has written. */
export async function measureQuality({ index, scope, idOf }, dataset) {
  const scores = [];
  const empty = [];
  for (const { id, text } of dataset.queries) {
    const hits = await index.search(scope, text, BEST);
    if (hits.length === 0) empty.push(text);
    const ranked = hits.map(({ fragmentId }) => idOf.get(fragmentId));
    scores.push(ndcg(ranked, dataset.relevant.get(id)));
  }
  return {
    documents: dataset.documents.length,
    queries: scores.length,
    ndcg: mean(scores),
    empty: empty.length,
  };
}

/** How long it takes on so many fragments; every query is asked once, so none has been stemmed before. */
export async function measureLatency(app, dataset, fragments) {
  const copies = Array.from(
    { length: fragments },
    (_, at) => dataset.documents[at % dataset.documents.length],
  );
  const { index, scope, writeMs } = await load(app, copies);
  const times = [];
  for (const { text } of dataset.queries) {
    const began = performance.now();
    await index.search(scope, text, CANDIDATES);
    times.push(performance.now() - began);
  }
  const measured = times.slice(WARM_UP);
  return {
    fragments,
    p50: percentile(measured, 0.5),
    p95: percentile(measured, 0.95),
    writeMs: mean(writeMs),
  };
}

/** Writes one document of one fragment for each text to a new base, one after the other. */
export async function load(app, texts) {
  const { KeywordIndex } = await import('../../../dist/src/fragment/index.js');
  const index = app.get(KeywordIndex);
  const { scope, addDocument } = await makeKnowledge(app);
  const idOf = new Map();
  const writeMs = [];
  for (const { id, text } of texts) {
    const attachmentId = await addDocument();
    const fragmentId = attachmentId;
    idOf.set(fragmentId, id);
    const began = performance.now();
    const [analysed] = await index.analyse([text], scope);
    await index.replaceAttachment({ ...scope, attachmentId }, [{ fragmentId, analysed }]);
    writeMs.push(performance.now() - began);
  }
  return { index, scope, idOf, writeMs };
}
