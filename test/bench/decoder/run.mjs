/**
 * Throughput of the event-stream decoder, in MB/s and events/s: a chat stream in reads of one event, of several, and cut
 * anywhere. With a commit as the argument, the decoder of that commit runs alternately with this one:
 *
 *   node --import ./test/support/typescript-hooks.mjs test/bench/decoder/run.mjs [commit]
 */
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

const root = new URL('../../../', import.meta.url);
const folder = 'src/provider/adapter';
const EVENTS = 20_000;
const ROUNDS = 15;

const stream = Buffer.from(
  Array.from({ length: EVENTS }, (_, at) => {
    const delta = { content: ` word${at % 97}${at % 10 === 0 ? ' é世界' : ''}` };
    const chunk = {
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta }],
    };
    return `data: ${JSON.stringify(chunk)}\n\n`;
  }).join(''),
);
const cuts = {
  'one event a read': readsOf((at) => stream.indexOf('\n\n', at) + 2),
  'reads of 16 KiB': readsOf((at) => at + 16_384),
  'reads of 37 bytes': readsOf((at) => at + 37),
};

const decoders = { new: await decoderIn(new URL(`${folder}/stream-decoder.ts`, root)) };
const commit = process.argv[2];
if (commit !== undefined) decoders.old = await decoderOf(commit);

for (const [cut, reads] of Object.entries(cuts)) {
  const best = Object.fromEntries(Object.keys(decoders).map((name) => [name, Infinity]));
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, Decoder] of Object.entries(decoders)) {
      best[name] = Math.min(best[name], decode(Decoder, reads));
    }
  }
  const shown = Object.entries(best).map(([name, ms]) => {
    const megabytes = (stream.length / 1e6 / (ms / 1e3)).toFixed(0);
    return `${name} ${megabytes} MB/s, ${Math.round(EVENTS / (ms / 1e3))} events/s`;
  });
  const ratio = best.old === undefined ? '' : `; new/old ${(best.old / best.new).toFixed(2)}`;
  console.log(`${cut}: ${shown.join('; ')}${ratio}`);
}

function decode(Decoder, reads) {
  const began = performance.now();
  const decoder = new Decoder();
  let events = 0;
  for (const bytes of reads) events += decoder.push(bytes).length;
  events += decoder.end().length;
  if (events !== EVENTS) throw new Error(`${events} events instead of ${EVENTS}`);
  return performance.now() - began;
}

function readsOf(nextCut) {
  const reads = [];
  for (let at = 0; at < stream.length;) {
    const end = Math.min(nextCut(at), stream.length);
    reads.push(stream.subarray(at, end));
    at = end;
  }
  return reads;
}

async function decoderIn(url) {
  return (await import(url)).EventStreamDecoder;
}

/** The decoder's files as the commit has them, beside this installation's packages. */
async function decoderOf(commit) {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' });
  const cache = new URL('node_modules/.cache/bench-decoder/', root);
  mkdirSync(cache, { recursive: true });
  const files = git('ls-tree', '--name-only', commit, `${folder}/`)
    .split('\n')
    .filter((path) => /\/(event-stream|line-decoder|stream-decoder)\.ts$/.test(path));
  for (const path of files) {
    const source = git('show', `${commit}:${path}`);
    const errors = pathToFileURL(`${fileURLToPath(root)}${folder}/upstream.error.ts`).href;
    const copy = source
      .replace('./upstream.error.js', errors)
      .replace('./line-decoder.js', './line-decoder.ts');
    writeFileSync(new URL(path.split('/').at(-1), cache), copy);
  }
  const entry = files.some((path) => path.endsWith('/stream-decoder.ts'))
    ? 'stream-decoder.ts'
    : 'event-stream.ts';
  return decoderIn(new URL(entry, cache));
}
