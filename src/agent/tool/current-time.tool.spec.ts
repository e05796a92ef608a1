import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import type { ToolContext } from './agent-tool.js';
import { ToolFailure } from './agent-tool.js';
import { CurrentTimeTool } from './current-time.tool.js';

const tool = new CurrentTimeTool();

async function at(timeZone?: string, own?: string): Promise<string> {
  const { content } = await tool.run({ timeZone }, { timeZone: own } as ToolContext);
  return content;
}

describe('current_time', () => {
  beforeAll(() => {
    jest.useFakeTimers({ now: new Date('2026-03-01T23:05:09Z') });
  });

  afterAll(() => {
    jest.useRealTimers();
  });

  it.each([
    [undefined, undefined, '2026-03-01T23:05:09+00:00, Sunday, time zone UTC'],
    [undefined, 'Europe/Berlin', '2026-03-02T00:05:09+01:00, Monday, time zone Europe/Berlin'],
    ['America/New_York', 'Europe/Berlin', '2026-03-01T18:05:09-05:00, Sunday'],
    ['Asia/Kolkata', undefined, '2026-03-02T04:35:09+05:30, Monday'],
    [' utc ', undefined, '2026-03-01T23:05:09+00:00, Sunday'],
  ])('in %j for a user in %j', async (asked, own, expected) => {
    expect(await at(asked, own)).toContain(expected);
  });

  it.each(['Mars/Olympus', 'Berlin', '; DROP', 'Europe/Berlin\n'])(
    'knows no zone %j',
    async (zone) => {
      const answered: unknown = await at(zone).catch((error: unknown) => error);
      if (zone.trim() === 'Europe/Berlin') expect(answered).toContain('Europe/Berlin');
      else {
        expect(answered).toBeInstanceOf(ToolFailure);
        expect((answered as Error).message).toMatch(
          /^There is no time zone ".+"\. Give an IANA name/,
        );
      }
    },
  );
});
