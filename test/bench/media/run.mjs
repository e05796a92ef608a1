// GET /media/content against a bare Node pipe, in one run over TLS on loopback; docs/MEDIA.md holds the goals.
// Exit code 1 only when something failed: machines are noisy.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { get } from 'node:http';
import { fileURLToPath } from 'node:url';
import { certificateFor } from '../../support/media/certificate.ts';
import { build, node } from '../../../scripts/prepare.mjs';
import { median } from '../chat/median.mjs';

const MIB = 1024 * 1024;
const BYTES = 64 * MIB;
const ROUNDS = process.argv.includes('--quick') ? 5 : 15;
const WARM_UP = 3;
const PARALLEL = 10;
const MEMORY_MB = 256;
const HOST = 'images.media.example';

await build();
const children = [];
try {
  const certificate = certificateFor([HOST]);
  const host = await start('host.mjs', { certificate, bytes: BYTES });
  const resource = { host: HOST, port: host.port, ca: certificate.cert };
  const pipe = await start('pipe.mjs', resource);
  const plinth = await start('service.mjs', resource);
  print(await alone(plinth, pipe), await together(plinth));
} finally {
  for (const child of children) child.disconnect();
}

/** A process of its own; answers its first message, with `ask` for more. */
async function start(program, settings) {
  const child = fork(fileURLToPath(new URL(program, import.meta.url)), {
    execPath: node,
    execArgv: ['--expose-gc'],
  });
  children.push(child);
  child.send(settings);
  const ask = async (question) => {
    child.send(question);
    return (await once(child, 'message'))[0];
  };
  return { ...(await once(child, 'message'))[0], ask };
}

/** One fetch at a time, in turns, so that whatever else the machine does meets both alike. */
async function alone(plinth, pipe) {
  const seen = new Map([plinth, pipe].map((one) => [one, { rates: [], addedMb: [] }]));
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    for (const [one, { rates, addedMb }] of seen) {
      await one.ask('rest');
      const began = performance.now();
      const { status, bytes } = await fetched(one, '/sized');
      const seconds = (performance.now() - began) / 1_000;
      const { added } = await one.ask('memory');
      if (status !== 'whole' || bytes !== BYTES) throw new Error(`${status} after ${bytes} bytes`);
      // The first fetches are not as fast as the others, but may take more memory.
      addedMb.push(added / 1e6);
      if (round >= 0) rates.push(bytes / MIB / seconds);
    }
  }
  const [service, bare] = [...seen.values()].map(({ rates, addedMb }) => ({
    rate: median(rates),
    addedMb: median(addedMb),
    mostMb: Math.max(...addedMb),
  }));
  return { service, bare };
}

/** All at once without a length: together they may hold only so much. */
async function together(plinth) {
  await plinth.ask('watch');
  await plinth.ask('rest');
  const answers = await Promise.all(
    Array.from({ length: PARALLEL }, () => fetched(plinth, '/unsized')),
  );
  const { added, held } = await plinth.ask('memory');
  const count = (wanted) => answers.filter(({ status }) => status === wanted).length;
  const [whole, refused] = [count('whole'), count(429)];
  if (whole + refused !== PARALLEL) {
    throw new Error(`Answered: ${answers.map(({ status }) => status).join()}`);
  }
  return { whole, refused, heldMb: held / MIB, addedMb: added / 1e6 };
}

/** `whole` for a resource that came to its end, else the code of the envelope. */
async function fetched({ port, headers }, path) {
  const asked = get({
    port,
    headers,
    path: `/media/content?model=m&predictionId=${path.slice(1)}`,
  });
  const [answer] = await once(asked, 'response');
  const isResource = answer.headers['content-type'] === 'image/png';
  let bytes = 0;
  let text = '';
  for await (const piece of answer) {
    bytes += piece.length;
    if (!isResource) text += piece;
  }
  return { status: isResource ? 'whole' : JSON.parse(text).code, bytes };
}

function print({ service, bare }, all) {
  const line = (name, value, goal = '') =>
    console.log(`  ${name.padEnd(34)} ${value.padEnd(44)} ${goal}`);
  console.log(`\n64 MiB with a declared length, median of ${ROUNDS}`);
  line('a bare Node pipe', `${bare.rate.toFixed(0)} MiB/s, ${bare.addedMb.toFixed(1)} MB added`);
  line('GET /media/content', `${service.rate.toFixed(0)} MiB/s`);
  line('to the pipe', (service.rate / bare.rate).toFixed(2), 'goal 0.8');
  line(
    'memory added',
    `${service.addedMb.toFixed(1)} MB, most ${service.mostMb.toFixed(1)} MB`,
    'goal at most 20 MB',
  );
  console.log(`\n${PARALLEL} at once without a length`);
  line('handed on, refused with 429', `${all.whole}, ${all.refused}`);
  line('held at most', `${all.heldMb.toFixed(0)} MiB`, `goal at most ${MEMORY_MB} MiB`);
  line('memory added', `${all.addedMb.toFixed(0)} MB`);
}
