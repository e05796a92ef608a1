import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from '@jest/globals';
import { removeOldFolders, runInSandbox } from '../../../src/harness/sandbox/sandbox.run.js';
import { describeSandboxed, TestSandbox } from '../../support/sandbox.js';
import { eventually } from '../../support/wait.js';

const describe = await describeSandboxed();

const RUNNER = fileURLToPath(new URL('../../support/sandbox-runner.ts', import.meta.url));
const RETRY = fileURLToPath(new URL('../../support/sandbox-retry.ts', import.meta.url));
const MIB = 2 ** 20;

/** Without it, memory says when V8 last collected. */
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** Processes of this machine whose command line holds the text. */
function processesWith(text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'latin1');
        return pid !== process.pid && line.includes(text);
      } catch {
        return false;
      }
    });
}

/** Bytes of buffers that somebody holds. V8 frees buffers beside a collection, and is done with them at the next one. */
function heldBytes(): number {
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().arrayBuffers;
}

/** A duration that no other process sleeps for. */
function uniqueSleep(): string {
  return `sleep ${3_000 + Math.floor(Math.random() * 1e6) / 1e3}`;
}

describe('how a command ends', () => {
  it('when its use cannot be watched, before it does anything', async () => {
    await using box = await TestSandbox.start();
    const { workspace } = box;
    const command = `echo begun > begun.txt; ${uniqueSleep()}`;
    const limits = {
      ...{ diskBytes: 0, freeBytes: 0, addedFiles: 0 },
      get memoryBytes(): number {
        throw new Error('no limits');
      },
    };
    const place = { removed: TestSandbox.removed, hidden: [], limits };
    const { signal } = new AbortController();
    const request = { workspace, command, timeoutMs: 100_000, signal };
    await expect(runInSandbox(request, place)).rejects.toThrow('no limits');
    expect(processesWith(command)).toEqual([]);
    expect(readdirSync(workspace)).toEqual([]);
  });

  it('by itself, and what it has left running ends with it', async () => {
    await using box = await TestSandbox.start();
    const sleeping = uniqueSleep();
    const command = `${sleeping} & (setsid ${sleeping} >/dev/null 2>&1 &) ; nohup ${sleeping} & disown -a; echo started`;
    const result = await box.run(command);
    expect(result).toMatchObject({ exitCode: 0, timedOut: false, cancelled: false });
    expect(result.output.whole().toString()).toContain('started');
    expect(result.durationMs).toBeLessThan(25_000);
    expect(processesWith(sleeping.replace(' ', '\0'))).toEqual([]);
  });

  it('at its time-out, with all its processes, however they are hidden', async () => {
    await using box = await TestSandbox.start();
    const sleeping = uniqueSleep();
    const command = `trap '' TERM INT HUP; (setsid ${sleeping} &); echo before; ${sleeping}; ${sleeping}`;
    const result = await box.run(command, { timeoutMs: 5_000 });
    expect(result).toMatchObject({ exitCode: null, signal: 'SIGKILL', timedOut: true });
    expect(result.output.whole().toString()).toBe('before\n');
    expect(result.durationMs).toBeLessThan(25_000);
    expect(processesWith(sleeping.replace(' ', '\0'))).toEqual([]);
  });

  it('within three seconds when it is no longer wanted', async () => {
    await using box = await TestSandbox.start();
    const sleeping = uniqueSleep();
    const cancelled = new AbortController();
    const running = box.run(`(setsid ${sleeping} &); echo x > began; ${sleeping}`, {
      signal: cancelled.signal,
    });
    await eventually(() => existsSync(box.at('began')), Boolean);
    cancelled.abort();
    expect(await running).toMatchObject({ cancelled: true, timedOut: false, exitCode: null });
    expect(processesWith(sleeping.replace(' ', '\0'))).toEqual([]);
    await expect(box.run('true', { signal: cancelled.signal })).rejects.toThrow('aborted');
  });

  it('with the service, however that ends', async () => {
    await using box = await TestSandbox.start();
    const sleeping = uniqueSleep();
    const command = `echo x > began; (setsid ${sleeping} &); ${sleeping}`;
    const service = startRunner([box.workspace, command]);
    await eventually(() => existsSync(box.at('began')), Boolean, 60_000);
    await eventually(
      () => processesWith(sleeping.replace(' ', '\0')).length,
      (count) => count > 0,
    );
    service.kill('SIGKILL');
    await once(service, 'exit');
    await eventually(
      () => processesWith(sleeping.replace(' ', '\0')),
      (left) => left.length === 0,
    );
    expect(readdirSync(box.workspace)).toEqual(['began']);
  });

  it('one after the other in a workspace', async () => {
    await using box = await TestSandbox.start();
    const cancelled = new AbortController();
    const first = box.run('sleep 1; ls');
    const second = box.run('echo x > second');
    const third = box.run('echo x > third', { signal: cancelled.signal });
    cancelled.abort(new Error('No longer wanted'));
    await expect(third).rejects.toThrow('No longer wanted');
    expect((await first).output.whole().toString()).toBe('');
    await second;
    expect(readdirSync(box.workspace)).toEqual(['second']);
  });

  // S30
  it('without harm to the service, whatever it kills', async () => {
    await using box = await TestSandbox.start();
    const bystander = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)']);
    const result = await box.run(
      'for p in 1 $PPID -1; do kill -9 $p; done 2>/dev/null; pkill -9 -f node; killall5 -9; echo here',
    );
    expect(result.timedOut).toBe(false);
    expect(bystander.exitCode).toBeNull();
    expect(bystander.signalCode).toBeNull();
    bystander.kill('SIGKILL');
    expect((await box.run('pkill -9 -f "[n]ode"; echo alive')).output.whole().toString()).toBe(
      'alive\n',
    );
  });
});

describe('what a command may use', () => {
  it('is a bounded number of processes', async () => {
    await using box = await TestSandbox.start();
    const sleeping = uniqueSleep();
    const pattern = sleeping.replace(' ', '\0');
    const running = box.run(`for i in $(seq 10000); do ${sleeping} & done 2>/dev/null; wait`, {
      timeoutMs: 3_000,
    });
    let most = 0;
    let done = false;
    void running.finally(() => (done = true));
    while (!done) {
      most = Math.max(most, processesWith(pattern).length);
      await sleep(20);
    }
    const result = await running;
    expect(result.exitCode).not.toBe(0);
    // Where not even root can make control groups, processes are counted, and the command is ended a little later.
    expect(most).toBeLessThan(result.exceeded ? 1_500 : 257);
    await eventually(
      () => processesWith(pattern),
      (left) => left.length === 0,
    );
  });

  it('survives a fork bomb', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run(':(){ :|:& };:; sleep 20', { timeoutMs: 3_000 });
    expect(result.durationMs).toBeLessThan(25_000);
    expect(result.exitCode).not.toBe(0);
    expect((await box.run('echo next')).output.whole().toString()).toBe('next\n');
  });

  it('is written down in its shell', async () => {
    await using box = await TestSandbox.start();
    const limits = 'ulimit -u; ulimit -d; ulimit -f; ulimit -n; ulimit -c; ulimit -t';
    const result = await box.run(limits, { timeoutMs: 5_000 });
    expect(result.output.whole().toString()).toBe('256\n4194304\n1048576\n1024\n0\n15\n');
    const raised = await box.run('ulimit -n 2048 || ulimit -d unlimited || echo kept');
    expect(raised.output.whole().toString()).toContain('kept');
  });

  it('is bounded files and a bounded /tmp', async () => {
    await using box = await TestSandbox.start();
    const large = await box.run('truncate -s 1025M large');
    expect(large).toMatchObject({ exitCode: 153, signal: 'SIGXFSZ' });
    const full = await box.run(
      'df --output=size -BM /tmp /dev/shm | tail -2; truncate -s 1G large && rm large && echo fits',
    );
    expect(full.output.whole().toString().replaceAll(' ', '')).toBe('1024M\n256M\nfits\n');
  });

  it('is bounded processor time', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run('ulimit -t 1; while :; do :; done', { timeoutMs: 60_000 });
    expect(result).toMatchObject({ timedOut: false, exitCode: 137 });
  });
});

describe('what all processes of a command use together', () => {
  const MEMORY = { memoryBytes: 128 * MIB };
  const hold = (mib: number): string => `perl -e '$m = ${mib} << 20; $x = "x" x $m; sleep 99'`;
  const memfd = process.arch === 'x64' ? 319 : 279;

  it.each([
    ['of one process', hold(300)],
    ['of several processes', `for i in 1 2 3 4 5 6; do ${hold(40)} & done; wait`],
    ['of processes that have left the shell', `(setsid ${hold(300)} >/dev/null 2>&1 &); sleep 99`],
    ['of files in /tmp', 'head -c 300M /dev/zero > /tmp/large; sleep 99'],
    ['of files that are gone', 'exec 3>/tmp/x; rm /tmp/x; head -c 300M /dev/zero >&3; sleep 99'],
    [
      'of files without a name',
      `perl -e '$n = "m"; $f = syscall(${memfd}, $n, 0); open(F, ">&=", $f); $x = "x" x (1 << 20); syswrite(F, $x) for 1..300; undef $x; sleep 99'`,
    ],
  ])('is bounded memory: %s', async (_, command) => {
    await using box = await TestSandbox.start();
    const result = await box.runWithin(MEMORY, command);
    expect(result).toMatchObject({
      exceeded: 'it used more than 128 MiB of memory',
      ...{ exitCode: null, signal: 'SIGKILL', timedOut: false },
    });
  });

  it('is ended before the service when the machine has no memory left', async () => {
    await using box = await TestSandbox.start();
    expect(await box.output('cat /proc/self/oom_score_adj')).toBe('1000\n');
  });

  it('is memory counted once that processes share, and none that only caches files', async () => {
    await using box = await TestSandbox.start();
    const shared = `perl -e '$m = 60 << 20; $x = "x" x $m; for (1..8) { fork or do { select(undef, undef, undef, 1); exit } } 1 while wait > 0'`;
    const cached = 'head -c 300M /dev/zero > large; cat large large > /dev/null; rm large';
    const result = await box.runWithin(MEMORY, `${shared}; ${cached}; echo done`);
    expect(result).toMatchObject({ exceeded: null, exitCode: 0 });
  });

  // Writes on, since others may free as much on the same disk meanwhile.
  const writing = (each: string): string =>
    `for i in $(seq 60); do ${each}; sleep 0.05; done; sleep 99`;

  it.each([
    ['in many files', 'head -c 50M /dev/zero > file$i'],
    ['in a file that is gone', 'exec {fd}>gone; rm gone; head -c 50M /dev/zero >&$fd'],
    [
      'with its times set back',
      'mkdir -p a/b; head -c 50M /dev/zero > a/b/$i; touch -d 2001-01-01 a/b/$i a/b a',
    ],
  ])('is bounded disk: %s', async (_, each) => {
    await using box = await TestSandbox.start();
    const result = await box.runWithin({ diskBytes: 200 * MIB }, writing(each));
    expect(result).toMatchObject({
      exceeded: 'it wrote more than 200 MiB to the workspace',
      ...{ exitCode: null, signal: 'SIGKILL', timedOut: false },
    });
  });

  it('is a bounded number of files', async () => {
    await using box = await TestSandbox.start();
    const each = 'mkdir d$i; (cd d$i; touch $(seq 3000))';
    const result = await box.runWithin({ addedFiles: 5_000 }, writing(each));
    expect(result.exceeded).toBe('it added more than 5000 files to the workspace');
  });

  it('leaves some of the disk free, and can still remove files when it is full', async () => {
    await using box = await TestSandbox.start({ 'old.txt': '' });
    const full = { freeBytes: 2 ** 60 };
    const result = await box.runWithin(full, writing('head -c 50M /dev/zero > file$i'));
    expect(result.exceeded).toMatch(
      /^it left less than \d+ MiB free on the disk of the workspace$/,
    );
    await rm(box.workspace, { recursive: true });
    await mkdir(box.workspace);
    await box.write('old.txt', '');
    expect(await box.runWithin(full, 'sleep 0.3; rm old.txt')).toMatchObject({ exitCode: 0 });
  });
});

describe('what a command writes', () => {
  it('is kept to 5 MiB, with its end, and says what is missing', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run('yes 0123456789 | head -c 20000000; echo the end');
    expect(result).toMatchObject({ exitCode: 0, output: { discarding: true, total: 20_000_008 } });
    expect(result.output.whole().length).toBeLessThan(5 * MIB + 200);
    expect(result.output.whole().subarray(-80).toString()).toContain(
      '14757128 more bytes were discarded',
    );
    expect(result.output.tail(100).toString()).toMatch(/0123456789\n012345678the end\n$/);
    expect(result.output.head(11).toString()).toBe('0123456789\n');
  });

  it('does not fill the memory', async () => {
    await using box = await TestSandbox.start();
    const enough = new AbortController();
    const before = heldBytes();
    let [taken, next, most, longest] = [0, 0, 0, 0];
    const result = await box.run('yes', {
      timeoutMs: 100_000,
      signal: enough.signal,
      onOutput: ({ total }) => {
        longest = Math.max(longest, total - taken);
        taken = total;
        if (taken < next) return;
        next = taken + 64 * MIB;
        most = Math.max(most, heldBytes());
        if (taken > 128 * MIB) enough.abort();
      },
    });
    expect(result).toMatchObject({ cancelled: true, output: { discarding: true } });
    expect(most - before).toBeLessThan(40 * MIB);
    // As it was read: pieces that are joined are copied, for which V8 collects more often.
    expect(longest).toBeLessThanOrEqual(64 * 1_024);
    expect(result.output.whole().length).toBeLessThan(5 * MIB + 200);
  });

  it('ends at the time-out, however much it is', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run('yes', { timeoutMs: 3_000 });
    expect(result).toMatchObject({ timedOut: true, signal: 'SIGKILL' });
  });

  it('waits for whoever takes it', async () => {
    await using box = await TestSandbox.start();
    let taken = 0;
    let wasDone = false;
    const result = await box.run('head -c 3000000 /dev/zero; echo x > done', {
      onOutput: async ({ total }) => {
        if (taken === 0) await sleep(500);
        wasDone ||= taken === 0 && existsSync(box.at('done'));
        taken = total;
      },
    });
    expect(wasDone).toBe(false);
    expect(taken).toBe(3_000_000);
    expect(result.output.whole().length).toBe(3_000_000);
  });

  it('is bytes', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run(String.raw`printf '\x00\x01\xff\xfe\r\n'`);
    expect([...result.output.whole()]).toEqual([0, 1, 255, 254, 13, 10]);
    await expect(box.run('echo a\0b')).rejects.toMatchObject({ code: 'INVALID_ARGUMENTS' });
  });

  it('is never taken for words of the service', async () => {
    await using box = await TestSandbox.start();
    const result = await box.run('echo "${1-none} $0"');
    expect(result.output.whole().toString()).toBe('none /usr/bin/bash\n');
    const quoted = await box.run(`echo 'a"b' "c'd" \`echo e\` $((1+1)) '$1'`);
    expect(quoted.output.whole().toString()).toBe(`a"b c'd e 2 $1\n`);
  });
});

describe('a check of the sandbox that has failed', () => {
  it('is made again after half a minute, and one that has not after ten', async () => {
    const child = spawn(process.execPath, [RETRY], { stdio: ['ignore', 'pipe', 'inherit'] });
    let answer = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (answer += text));
    await once(child, 'close');
    const delays = [30_000, 600_000];
    const last = JSON.parse(answer.split('\n').at(-1) ?? '') as unknown;
    expect(last).toEqual({ first: false, available: true, delays });
  });
});

describe('commands of folders that lie in one another', () => {
  it('wait for those that came before, whichever is the outer one', async () => {
    await using box = await TestSandbox.start({ 'sub/before': '' });
    const sub = { workspace: box.at('sub') };
    const first = box.run('touch sub/begun; sleep 1; mv sub/before sub/after');
    await eventually(() => existsSync(box.at('sub/begun')), Boolean);
    const inner = box.run('ls; sleep 1; touch inner', sub);
    const outer = box.run('ls sub');
    await first;

    expect((await inner).output.whole().toString()).toBe('after\nbegun\n');
    expect((await outer).output.whole().toString()).toBe('after\nbegun\ninner\n');
  });
});

// S7
describe('the sandbox', () => {
  it('makes files of its own only where nobody can have been before', async () => {
    await using box = await TestSandbox.start();
    // In a process whose temporary folder nobody else uses.
    const temporary = join(box.folder, 'temporary');
    await mkdir(temporary);
    const own = (): string[] =>
      readdirSync(temporary).filter((name) => name.startsWith('plinth-sandbox-'));
    const command = 'touch began; until [ -e go ]; do sleep 0.1; done';
    const service = startRunner([box.workspace, command], { TMPDIR: temporary });
    const ended = once(service, 'exit');
    await eventually(() => existsSync(box.at('began')), Boolean, 60_000);
    const modes = own().map((name) => statSync(join(temporary, name)).mode & 0o777);
    expect(modes).not.toEqual([]);
    expect(new Set(modes)).toEqual(new Set([0o700]));
    await box.write('go', '');
    await ended;
    expect(own()).toEqual([]);
  });

  it('removes such files of a service that was killed, and no others', async () => {
    const old = new Date(Date.now() - 2 * 60 * 60 * 1_000);
    const folder = await mkdtemp(join(tmpdir(), 'plinth-sandbox-'));
    const open = await mkdtemp(join(tmpdir(), 'plinth-sandbox-'));
    const young = await mkdtemp(join(tmpdir(), 'plinth-sandbox-'));
    try {
      await writeFile(join(folder, 'empty'), '');
      await chmod(open, 0o755);
      for (const path of [folder, open]) await utimes(path, old, old);
      await removeOldFolders();
      expect([folder, open, young].map((path) => existsSync(path))).toEqual([false, true, true]);
    } finally {
      for (const path of [folder, open, young]) await rm(path, { recursive: true, force: true });
    }
  });
});

function startRunner(args: readonly string[], env: Record<string, string> = {}): ChildProcess {
  return spawn(process.execPath, [RUNNER, ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}
