import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, describe, expect, it } from '@jest/globals';
import { processId, stateOfProcess } from './process-id.js';

const MODULE = new URL('./process-id.ts', import.meta.url).href;
const [host = ''] = processId.split(':');

describe('the state of a process', () => {
  let child: ReturnType<typeof spawn> | undefined;

  afterEach(() => {
    child?.kill('SIGKILL');
  });

  /** Another process with this module, and the name that it has for itself. */
  async function other(): Promise<string> {
    const program = `const { processId } = await import('${MODULE}'); console.log(processId); setInterval(() => {}, 1000);`;
    child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [name] = (await once(child.stdout ?? child, 'data')) as [Buffer];
    return name.toString().trim();
  }

  it('is running for itself', () => {
    expect(stateOfProcess(processId)).toBe('running');
  });

  it('is running for a process of this host, also one that is stopped, until it has ended', async () => {
    const name = await other();
    expect(stateOfProcess(name)).toBe('running');
    child?.kill('SIGSTOP');
    expect(stateOfProcess(name)).toBe('running');
    child?.kill('SIGKILL');
    if (child) await once(child, 'exit');
    expect(stateOfProcess(name)).toBe('ended');
  });

  it('is ended when its number belongs to another process now', () => {
    expect(stateOfProcess(`${host}:${process.pid}:1`)).toBe('ended');
  });

  it.each(['0123456789abcdef:4711:1', 'test', '', `${host}:../self:1`])(
    'is unknown for %s',
    (name) => {
      expect(stateOfProcess(name)).toBe('unknown');
    },
  );
});
