// The longest block of the event loop of the process that works a run, while the run's command changes 30,000 files, and
// while its files, diff and report are read. The control is a run whose command changes one file.
import { mkdirSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export const FILES = 30_000;
const ENDED = ['COMPLETED', 'FAILED', 'CANCELLED'];
const POLL_MS = 250;
const LIMIT_MS = 600_000;

/** The longest blocks by what was done; undefined where there is no sandbox. */
export async function longestBlocks(service, simulator, rounds) {
  const { shell } = await service.call('GET', '/coding/harness/capabilities');
  if (!shell.available) return undefined;
  const blocks = { idle: [], one: [], many: [], read: [] };
  for (let round = 0; round < rounds; round += 1) {
    blocks.idle.push(await service.longestBlock(() => sleep(5_000)));
    blocks.one.push(await service.longestBlock(() => ran(service, simulator, { round, files: 1 })));
    let run;
    blocks.many.push(
      await service.longestBlock(async () => {
        run = await ran(service, simulator, { round, files: FILES });
      }),
    );
    blocks.read.push(await service.longestBlock(() => read(service, run)));
  }
  return blocks;
}

/** The path of a finished run, in a workspace of its own, whose command has made so many files. */
async function ran(service, simulator, { round, files }) {
  const workspace = join(dirname(service.workspace), `many-${round}-${files}`);
  rmSync(workspace, { recursive: true, force: true });
  mkdirSync(workspace);
  const key = `${round}-${files}`;
  const { sessionId } = await service.call('POST', '/coding/harness/sessions', {
    workspacePath: workspace,
    model: 'coder',
    permissionMode: 'FULL_ACCESS',
    approvalPolicy: 'NEVER',
    title: 'Many files',
    idempotencyKey: `many-${key}`,
  });
  const plan = { summary: 'Make files', steps: [{ text: 'Make' }], files: [], risks: [] };
  const command = `mkdir made && cd made && for i in $(seq -w ${files}); do echo $i > f$i; done`;
  simulator.script(
    { toolCalls: [{ name: 'plan_create', arguments: plan }] },
    { toolCalls: [{ name: 'shell', arguments: { command } }] },
    { text: 'Done.' },
  );
  const runs = `/coding/harness/sessions/${sessionId}/runs`;
  const body = { requirement: 'Make the files.', idempotencyKey: `many-${key}` };
  const { runId } = await service.call('POST', runs, body);
  const run = `${runs}/${runId}`;
  const end = performance.now() + LIMIT_MS;
  for (;;) {
    const { status } = await service.call('GET', run);
    if (status === 'COMPLETED') break;
    if (ENDED.includes(status) || performance.now() > end) {
      throw new Error(`The run of ${files} files is ${status}.`);
    }
    await sleep(POLL_MS);
  }
  const { total } = await service.call('GET', `${run}/diff?format=json&pageSize=1`);
  if (total !== files) throw new Error(`The run of ${files} files has changed ${total}.`);
  return run;
}

async function read(service, run) {
  for (const below of ['/files', '/files?pageNum=60', '/diff', '/diff?pageNum=60', '/report']) {
    await service.call('GET', `${run}${below}`);
  }
}
