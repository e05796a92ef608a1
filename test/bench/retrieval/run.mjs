// Quality of retrieval on public test sets, on the embedded store and, where DATABASE_URL is set, on PostgreSQL.
// Vector and hybrid search are measured with the embeddings that embed.py writes, and left out where there are none;
// with --baseline beside an independent BM25 (baseline.mjs). Exit code 1 when the quality is below its goal or the
// baseline, never for a time: machines are noisy.
import { build } from '../../../scripts/prepare.mjs';
import { measureBaseline } from './baseline.mjs';
import { dataFolder, isSet, isThere, readDataset } from './dataset.mjs';
import { embeddingsFolder, readEmbeddings } from './embeddings.mjs';
import { measureFusion } from './fusion.mjs';
import { load, measureLatency, measureQuality } from './keyword.mjs';
import { withPlinth } from './stores.mjs';
import { leastPart, tableOf } from './table.mjs';

/** Least nDCG@10 of the keyword channel alone. */
const QUALITY = { cacm: 0.49, cranfield: 0.385, med: 0.7, 'xquad-es': 0.96, 'zh-mix': 0.97 };
/** Least part of the better channel that hybrid search keeps at every alpha, on sets in the language of the model. */
const LEAST_PART = 0.99;
const IN_ENGLISH = ['cranfield', 'cacm', 'med'];
/** Its texts are repeated for measuring times: its questions are long and of frequent words. */
const REPEATED = 'cranfield';
const FRAGMENTS = Number(process.env.RETRIEVAL_FRAGMENTS ?? 10_000);

if (isThere) {
  await build();
  await main();
} else {
  console.log(
    `Skipped: there are no test sets in ${dataFolder}; RETRIEVAL_DATA names their folder.`,
  );
}

async function main() {
  const wanted = process.env.RETRIEVAL_SETS?.split(',') ?? Object.keys(QUALITY);
  const datasets = wanted
    .filter(isSet)
    .map(readDataset)
    .map((dataset) => ({ ...dataset, embeddings: readEmbeddings(dataset) }));
  if (datasets.some(({ embeddings }) => !embeddings)) {
    console.log(
      `Vector and hybrid search are skipped where ${embeddingsFolder} has no embeddings; test/bench/retrieval/embed.py makes them, RETRIEVAL_EMBEDDINGS names their folder.`,
    );
  }
  const baseline = process.argv.includes('--baseline')
    ? await withPlinth(undefined, (app) => measureBaseline(app, wanted.filter(isSet)))
    : {};
  const url = process.env.DATABASE_URL;
  if (!url) console.log('PostgreSQL is left out: DATABASE_URL is not set.');
  const stores = [
    { name: 'embedded', latencyMs: 20 },
    ...(url ? [{ name: 'PostgreSQL', url, latencyMs: 10 }] : []),
  ];
  const only = process.env.RETRIEVAL_STORES?.split(',');
  const rows = [];
  for (const store of stores.filter(({ name }) => only?.includes(name) ?? true)) {
    const measured = await withPlinth(store.url, (app) => measureStore(app, datasets));
    reportTimes(store, measured.latency);
    const ofStore = measured.rows.map((row) => ({
      store: store.name,
      bm25: baseline[row.set],
      ...row,
    }));
    rows.push(...ofStore);
  }
  console.log(`\nnDCG@10\n${tableOf(rows)}`);
  for (const row of rows) console.log(JSON.stringify({ bench: 'retrieval', ...row }));
  const missed = rows.flatMap(missedBy);
  for (const goal of missed) console.log(`MISSED: ${goal}`);
  process.exitCode = missed.length === 0 ? 0 : 1;
}

async function measureStore(app, datasets) {
  const rows = [];
  for (const dataset of datasets) {
    const loaded = await load(app, dataset.documents);
    const { ndcg: keyword, ...counts } = await measureQuality(loaded, dataset);
    const fusion =
      dataset.embeddings && (await measureFusion(app, loaded, dataset, dataset.embeddings));
    console.error(`${dataset.name}: measured`);
    rows.push({ set: dataset.name, ...counts, ...fusion, keyword });
  }
  const repeated = FRAGMENTS > 0 && datasets.find(({ name }) => name === REPEATED);
  return { rows, latency: repeated && (await measureLatency(app, repeated, FRAGMENTS)) };
}

function reportTimes({ name, latencyMs }, latency) {
  if (!latency) return;
  const { fragments, p50, p95, writeMs } = latency;
  console.log(
    `\n${name}: keyword channel, ${fragments} fragments: p50 ${p50.toFixed(1)} ms (aim ${latencyMs}), ` +
      `p95 ${p95.toFixed(1)} ms; analysed and written in ${writeMs.toFixed(1)} ms a fragment`,
  );
}

/** The goals of quality that a row misses. */
function missedBy(row) {
  const { store, set, keyword, bm25 = 0, empty } = row;
  const part = leastPart(row);
  return [
    keyword < (QUALITY[set] ?? 0) &&
      `${store} ${set}: keyword ${keyword.toFixed(4)}, goal ${QUALITY[set]}`,
    keyword < bm25 && `${store} ${set}: keyword ${keyword.toFixed(4)}, BM25 ${bm25.toFixed(4)}`,
    empty > 0 && `${store} ${set}: ${empty} questions without a keyword hit`,
    IN_ENGLISH.includes(set) &&
      part < LEAST_PART &&
      `${store} ${set}: hybrid ${part.toFixed(4)} of the better channel`,
  ].filter(Boolean);
}
