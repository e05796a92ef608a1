import { writeFile, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { PARSE_LIMITS } from '../../../src/attach/parser/document-parser.js';
import { SETTINGS, TestParser } from '../../support/documents/parsing.js';
import { pdfOf } from '../../support/documents/pdf.js';
import { setConstants } from '../../support/override-constants.js';
import { eventually } from '../../support/wait.js';

/** Takes many seconds to read. */
const LONG = pdfOf(Array.from({ length: 5_000 }, (_, i) => `Page ${i + 1}`));

const never = new AbortController().signal;

describe('DocumentParser', () => {
  it('ends with the reason of the signal, and goes on', async () => {
    await using parser = await TestParser.start();
    const cancelled = new AbortController();
    const parsing = parser.parse('long.pdf', LONG, { signal: cancelled.signal });
    const waiting = new AbortController();
    const second = parser.parse('second.txt', Buffer.from('second'), { signal: waiting.signal });
    const third = parser.parse('third.txt', Buffer.from('third'));
    await eventually(
      () => parser.spooled(),
      (names) => names.length === 3,
    );
    waiting.abort(new Error('No longer wanted'));
    await expect(second).rejects.toThrow('No longer wanted');
    cancelled.abort(new Error('Cancelled'));
    await expect(parsing).rejects.toThrow('Cancelled');
    expect((await third).fragments).toHaveLength(1);
    expect(await parser.spooled()).toEqual([]);
    await expect(
      parser.parse('a.txt', Buffer.from('a'), { signal: cancelled.signal }),
    ).rejects.toThrow('Cancelled');
  });

  it('parses several documents at a time when it may', async () => {
    await using parser = await TestParser.start({ PARSE_WORKERS: '2' });
    const cancelled = new AbortController();
    const parsing = parser.parse('long.pdf', LONG, { signal: cancelled.signal });
    expect((await parser.parse('a.txt', Buffer.from('a'))).fragments).toHaveLength(1);
    cancelled.abort(new Error('Cancelled'));
    await expect(parsing).rejects.toThrow('Cancelled');
  });

  it('does not blame the document when its file cannot be read', async () => {
    await using parser = await TestParser.start();
    const broken = new Readable({ read: () => broken.destroy(new Error('The storage is gone')) });
    const file = { content: broken, name: 'a.txt', byteSize: 10 };
    await expect(parser.parser.parse(file, SETTINGS, never)).rejects.toThrow('The storage is gone');
    const short = { content: Readable.from([Buffer.from('abc')]), name: 'a.txt', byteSize: 10 };
    const parsing = parser.parser.parse(short, SETTINGS, never);
    await expect(parsing).rejects.toMatchObject({ name: 'BrokenOffError', message: /10 bytes/ });
    expect(await parser.spooled()).toEqual([]);
  });

  it.each([
    ['before', 0],
    ['while', 500],
  ])('does not blame the document when Plinth stops %s it is parsed', async (_, delay) => {
    await using parser = await TestParser.start();
    const outcome = parser.parse('long.pdf', LONG).catch((error: unknown) => error);
    await eventually(
      () => parser.spooled(),
      (names) => names.length === 1,
    );
    await sleep(delay);
    parser.parser.onApplicationShutdown();
    expect(await outcome).toMatchObject({ name: 'ParsingInterruptedError' });
  });

  it('removes at its start what a killed process left, but not what another may be at', async () => {
    await using parser = await TestParser.start();
    const folder = join(parser.folder, 'parsing');
    await writeFile(join(folder, 'old'), 'x');
    await utimes(join(folder, 'old'), 0, 0);
    await writeFile(join(folder, 'young'), 'x');
    await parser.parser.onModuleInit();
    expect(await parser.spooled()).toEqual(['young']);
  });

  it('ends a document that takes too long, names the limit and goes on', async () => {
    const pages = Array.from({ length: 30_000 }, (_, i) => `Page ${i + 1}`);
    const restore = setConstants(PARSE_LIMITS, { seconds: 3, pages: pages.length });
    try {
      await using parser = await TestParser.start();
      expect(await parser.reason('long.pdf', pdfOf(pages))).toMatch(
        /takes longer than 3 s, which is the limit/,
      );
      // A busy machine may need longer for a new process and a short text.
      restore();
      expect((await parser.parse('a.txt', Buffer.from('text'))).fragments).toHaveLength(1);
    } finally {
      restore();
    }
  });
});
