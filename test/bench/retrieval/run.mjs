// Quality of retrieval on public test sets, on the embedded store and, where DATABASE_URL is set, on PostgreSQL.
// With --baseline beside an independent BM25 (baseline.mjs). Exit code 1 when the quality is below its goal or the
// baseline, never for a time: machines are noisy.
import { build } from '../../../scripts/prepare.mjs';
import { measureBaseline } from './baseline.mjs';
import { dataFolder, isThere, readDataset } from './dataset.mjs';
import { measureLatency, measureQuality } from './keyword.mjs';
import { withPlinth } from './stores.mjs';

/** Least nDCG@10 of the keyword channel alone. */
const QUALITY = { cacm: 0.49, cranfield: 0.385, med: 0.7, 'xquad-es': 0.96, 'zh-mix': 0.97 };
/** Its texts are repeated for measuring times: its questions are long and of frequent words. */
const REPEATED = 'cranfield';
const FRAGMENTS = 10_000;

if (isThere) {
  build();
  await main();
} else {
  console.log(
    `Skipped: there are no test sets in ${dataFolder}; RETRIEVAL_DATA names their folder.`,
  );
}

async function main() {
  const datasets = Object.keys(QUALITY).map(readDataset);
  const baseline = process.argv.includes('--baseline') ? measureBaseline(Object.keys(QUALITY)) : {};
  const stores = [{ name: 'embedded', latencyMs: 20 }];
  const url = process.env.DATABASE_URL;
  if (url) stores.push({ name: 'PostgreSQL', url, latencyMs: 10 });
  else console.log('PostgreSQL is left out: DATABASE_URL is not set.');
  const missed = [];
  for (const store of stores) {
    const results = await withPlinth(store.url, (app) => measureStore(app, datasets));
    missed.push(...report(store, results, baseline));
  }
  process.exitCode = missed.length === 0 ? 0 : 1;
}

async function measureStore(app, datasets) {
  const quality = {};
  for (const dataset of datasets) quality[dataset.name] = await measureQuality(app, dataset);
  const repeated = datasets.find(({ name }) => name === REPEATED);
  return { keyword: { quality, latency: await measureLatency(app, repeated, FRAGMENTS) } };
}

/** Prints what was measured; answers the goals of quality that were missed. */
function report({ name, latencyMs }, { keyword }, baseline) {
  const missed = [];
  console.log(`\n${name}: keyword channel`);
  for (const [dataset, { documents, queries, ndcg, empty }] of Object.entries(keyword.quality)) {
    const independent = baseline[dataset];
    const least = Math.max(QUALITY[dataset], independent ?? 0);
    const met = ndcg >= least && empty === 0;
    if (!met) missed.push(`${name} ${dataset}`);
    console.log(
      `  ${dataset}: ${documents} documents, ${queries} queries, nDCG@10 ${ndcg.toFixed(4)} ` +
        `(goal ${QUALITY[dataset]}${independent === undefined ? '' : `, independent BM25 ${independent.toFixed(4)}`}), ` +
        `${empty} without a result: ${met ? 'PASS' : 'MISSED'}`,
    );
  }
  const { fragments, p50, p95, writeMs } = keyword.latency;
  console.log(
    `  ${fragments} fragments: p50 ${p50.toFixed(1)} ms (aim ${latencyMs}), p95 ${p95.toFixed(1)} ms; ` +
      `analysed and written in ${writeMs.toFixed(1)} ms a fragment`,
  );
  console.log(JSON.stringify({ bench: 'retrieval', store: name, keyword, baseline }));
  return missed;
}
