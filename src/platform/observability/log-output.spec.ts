import { PassThrough } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { LogOutput, outputTaken } from './log.js';

const MIB = 2 ** 20;

function unchanged(line: string): string {
  return line;
}

describe('LogOutput', () => {
  it('writes each line in its format', () => {
    const output = new PassThrough();
    const log = new LogOutput(output, (line) => `> ${line}`);
    log.write('one\n');
    log.write('two\n');
    expect(String(output.read())).toBe('> one\n> two\n');
  });

  it('keeps 16 MiB for a reader that stalls, and says later how many lines it has dropped', () => {
    const output = new PassThrough();
    const log = new LogOutput(output, unchanged);
    const line = `${'x'.repeat(MIB - 1)}\n`;
    for (let index = 0; index < 30; index += 1) log.write(line);
    expect(output.writableLength).toBeLessThanOrEqual(18 * MIB);

    const before = String(readAll(output)).length / MIB;
    log.write('next\n');
    const [notice = '', next] = String(readAll(output)).split('\n');
    expect(JSON.parse(notice)).toMatchObject({ level: 'warn', dropped: 30 - before });
    expect(next).toBe('next');
  });

  it('goes on without a reader that has gone', () => {
    const output = new PassThrough();
    const log = new LogOutput(output, unchanged);
    output.emit('error', Object.assign(new Error('write EPIPE'), { code: 'EPIPE' }));
    log.write('nobody reads this\n');
    expect(output.read()).toBeNull();
  });
});

describe('a place that is full for a moment', () => {
  it('gets the lines that come later, and is told of what it has not taken', () => {
    const output = new PassThrough();
    const log = new LogOutput(output, unchanged);
    output.emit('error', Object.assign(new Error('no space left'), { code: 'ENOSPC' }));
    log.write('next\n');
    const [notice = '', next] = String(output.read()).split('\n');
    expect(JSON.parse(notice)).toMatchObject({ level: 'warn', dropped: 1 });
    expect(next).toBe('next');
  });
});

describe('outputTaken', () => {
  it('waits for a reader that comes late', async () => {
    const output = new PassThrough({ highWaterMark: 10 });
    for (let index = 0; index < 10; index += 1) output.write('a line of the log\n');
    let wasRead = false;
    setTimeout(() => {
      wasRead = true;
      output.resume();
    }, 50);
    await outputTaken(60_000, output);
    expect(wasRead).toBe(true);
    expect(output.writableLength).toBe(0);
  });

  it('waits for nobody who does not read', async () => {
    const output = new PassThrough({ highWaterMark: 10 });
    for (let index = 0; index < 10; index += 1) output.write('a line of the log\n');
    await outputTaken(10, output);
    expect(output.writableLength).toBeGreaterThan(0);
  });
});

function readAll(output: PassThrough): Buffer {
  const pieces: Buffer[] = [];
  for (let piece = output.read() as Buffer | null; piece; piece = output.read() as Buffer | null) {
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
