import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProcessPresence } from './process.presence.js';

const one = new ProcessPresence();
const other = new ProcessPresence();

beforeAll(async () => {
  await one.onModuleInit();
  await other.onModuleInit();
});

afterAll(() => {
  one.onApplicationShutdown();
  other.onApplicationShutdown();
});

describe('the presence of processes', () => {
  it('tells at what another process of the host is', async () => {
    const leave = other.enter('run-1');

    expect(await one.of(other.boot, 'run-1')).toBe('busy');
    expect(await one.of(other.boot, 'run-2')).toBe('idle');
    expect(await one.isGone(other.boot)).toBe(false);
    leave();
    expect(await one.of(other.boot, 'run-1')).toBe('idle');
  });

  it('tells at what the own process is', async () => {
    const leave = one.enter('run-3');
    expect(await one.of(one.boot, 'run-3')).toBe('busy');
    leave();
    expect(await one.of(one.boot, 'run-3')).toBe('idle');
  });

  it('knows a process that has ended', async () => {
    const ended = new ProcessPresence();
    await ended.onModuleInit();
    expect(await one.of(ended.boot, 'run')).toBe('idle');
    ended.onApplicationShutdown();

    expect(await one.of(ended.boot, 'run')).toBe('gone');
    expect(await one.isGone(ended.boot)).toBe(true);
  });

  it('is not taken for gone while it is still at a run', async () => {
    const ending = new ProcessPresence();
    await ending.onModuleInit();
    const leave = ending.enter('run-4');
    ending.onApplicationShutdown();
    expect(await one.of(ending.boot, 'run-4')).toBe('busy');
    leave();

    expect(await one.of(ending.boot, 'run-4')).toBe('gone');
  });

  it('says nothing of a process that could not make itself known', async () => {
    const unheard = new ProcessPresence();
    const taken = createServer().listen(`\0plinth-harness-${unheard.boot}`);
    await once(taken, 'listening');
    await unheard.onModuleInit();
    taken.close();

    expect(await one.of(unheard.boot, 'run')).toBe('unknown');
    expect(await one.isGone(unheard.boot)).toBe(false);
  });

  it('takes a process that is stopped for a busy one', async () => {
    const [host = ''] = one.boot.split(':');
    const boot = `${host}:stopped-process`;
    const program = `require('node:net').createServer(() => {}).listen('\\0plinth-harness-${boot}', () => console.log('ready'))`;
    const child = spawn(process.execPath, ['-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(child.stdout, 'data');
    child.kill('SIGSTOP');

    expect(await one.of(boot, 'run')).toBe('busy');
    child.kill('SIGKILL');
    await once(child, 'exit');
    expect(await one.of(boot, 'run')).toBe('gone');
  });

  it('says nothing of other hosts', async () => {
    expect(await one.of('0123456789abcdef:elsewhere', 'run')).toBe('unknown');
  });
});
