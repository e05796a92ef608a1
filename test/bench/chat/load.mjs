import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const tools = fileURLToPath(new URL('../tools/', import.meta.url));
const bin = join(tools, 'bin');

/** Compiles mock and lg unless they are there and newer than their sources; answers their paths. */
export function loadTools() {
  mkdirSync(bin, { recursive: true });
  const paths = { mock: join(bin, 'mock'), lg: join(bin, 'lg') };
  for (const [name, program] of Object.entries(paths)) {
    const source = join(tools, `${name}.c`);
    if (existsSync(program) && statSync(program).mtimeMs > statSync(source).mtimeMs) continue;
    // The tools are kept as they came, warnings included.
    execFileSync('cc', ['-O2', '-w', '-o', program, source, '-lm']);
  }
  return paths;
}

/** What a run asks of /chat/send; a target of another interface has its own `api`. */
const CHAT_SEND = {
  path: '/chat/send',
  body: '{"model":"{{model}}","content":"hello"}',
  done: '"done":true',
};

/**
 * One bounded run of load against one target. `lost` says how many answers were cut, out of order,
 * refused or without their end; streams still open at the end of a timed run are not lost.
 */
export async function load({ children, lg, core }, target, shape) {
  const { model, connections, seconds, warm = 0.5, ramp, count } = shape;
  const { path, body, done } = target.api ?? CHAT_SEND;
  const args = ['--url', target.origin + path, '--model', model, '-c', connections];
  args.push('--expect', chunksOf(model), '--done', done, '--dur', seconds, '--warm', warm);
  args.push('--body', body, '--pid', target.child.pid);
  if (ramp) args.push('--ramp', ramp);
  if (count) args.push('--count', count);
  for (const [name, value] of Object.entries(target.headers)) args.push('-H', `${name}: ${value}`);
  const printed = await children.run(lg, args.map(String), {
    core,
    timeoutMs: (seconds + warm) * 1_000 + 15_000,
  });
  const result = JSON.parse(printed);
  return {
    turnsPerSecond: result.ok / result.elapsed,
    firstChunkMs: result.ttft.p50 / 1_000,
    answerMs: result.total.p50 / 1_000,
    chunkLagMs: { p50: result.lag.p50 / 1_000, p99: result.lag.p99 / 1_000 },
    targetCpu: result.cpu_pct,
    cpuPerTurnUs: result.cpu_us_per_req,
    chunks: result.tokens,
    cpuPerChunkUs: result.cpu_us_per_token,
    peakMb: (result.rss_max_kb * 1_024) / 1e6,
    ok: result.ok,
    unfinished: result.unfinished,
    lost: result.fail + result.aborted + result.error_events,
    fails: result.fails,
  };
}

/** The mock reads its scenario from the name of the model: `mock-n20` is 20 chunks. */
export function chunksOf(model) {
  return Number(/-n(\d+)/.exec(model)[1]);
}
