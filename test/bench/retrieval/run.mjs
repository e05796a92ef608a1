// Quality of retrieval on public test sets, on the embedded store and, where DATABASE_URL is set, on PostgreSQL.
// Exit code 1 when the quality is below its goal, never for a time: machines are noisy.
import { build } from '../../../scripts/prepare.mjs';
import { dataFolder, isThere, readDataset } from './dataset.mjs';
import { measureLatency, measureQuality } from './keyword.mjs';
import { withPlinth } from './stores.mjs';

/** Least nDCG@10 of the keyword channel alone. */
const QUALITY = { cranfield: 0.375, 'zh-mix': 0.965 };
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
  const stores = [{ name: 'embedded', latencyMs: 20 }];
  const url = process.env.DATABASE_URL;
  if (url) stores.push({ name: 'PostgreSQL', url, latencyMs: 10 });
  else console.log('PostgreSQL is left out: DATABASE_URL is not set.');
  const missed = [];
  for (const store of stores) {
    const results = await withPlinth(store.url, (app) => measureStore(app, datasets));
    missed.push(...report(store, results));
  }
  process.exitCode = missed.length === 0 ? 0 : 1;
}

async function measureStore(app, datasets) {
  const results = { keyword: {} };
  for (const dataset of datasets) {
    const quality = await measureQuality(app, dataset);
    const latency = await measureLatency(app, dataset, FRAGMENTS);
    results.keyword[dataset.name] = { quality, latency };
  }
  return results;
}

/** Prints what was measured; answers the goals of quality that were missed. */
function report({ name, latencyMs }, { keyword }) {
  const missed = [];
  console.log(`\n${name}: keyword channel`);
  for (const [dataset, { quality, latency }] of Object.entries(keyword)) {
    const met = quality.ndcg >= QUALITY[dataset] && quality.empty === 0;
    if (!met) missed.push(`${name} ${dataset}`);
    console.log(
      `  ${dataset}: ${quality.documents} documents, ${quality.queries} queries, ` +
        `nDCG@10 ${quality.ndcg.toFixed(4)} (goal ${QUALITY[dataset]}), ${quality.empty} without a result: ` +
        (met ? 'PASS' : 'MISSED'),
    );
    console.log(
      `  ${dataset}: ${latency.fragments} fragments, p50 ${latency.p50.toFixed(1)} ms (aim ${latencyMs}), ` +
        `p95 ${latency.p95.toFixed(1)} ms; analysed and written in ${latency.writeMs.toFixed(1)} ms a fragment`,
    );
  }
  console.log(JSON.stringify({ bench: 'retrieval', store: name, keyword }));
  return missed;
}
