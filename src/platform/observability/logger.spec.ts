import { Logger } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import type { Config } from '../config/index.js';
import { loadConfig } from '../config/index.js';
import { createLogger, logFormat, NestLogger } from './log.js';

const SECRET = 'sk-very-secret-value-0123456789';

function configOf(environment: Record<string, string> = {}): Config {
  return loadConfig({
    SECRET_KEY: 'test-secret-key-of-at-least-32-characters',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'trace',
    ...environment,
  });
}

/** What a logger wrote while the work ran. */
function written(
  work: (logger: ReturnType<typeof createLogger>) => void,
  environment?: Record<string, string>,
): string {
  const lines: string[] = [];
  work(createLogger(configOf(environment), { write: (line) => void lines.push(line) }));
  return lines.join('');
}

function fieldsOf(
  work: (logger: ReturnType<typeof createLogger>) => void,
): Record<string, unknown> {
  return JSON.parse(written(work)) as Record<string, unknown>;
}

describe('the redaction', () => {
  it.each([
    ['a credential in a field', { apiKey: SECRET }],
    ['a credential deep inside', { call: { options: [{ headers: { Authorization: SECRET } }] } }],
    ['a password', { body: { newPassword: SECRET } }],
    ['a token', { access_token: SECRET, refreshToken: SECRET }],
    ['a query', { url: `/resource/oss/download/1?Authorization=Bearer%20${SECRET}&clientid=1` }],
    ['a header in a text', { note: `sent Authorization: Bearer ${SECRET}` }],
    ['an address with a password', { address: `postgres://plinth:${SECRET}@db:5432/plinth` }],
  ])('hides %s', (_, fields) => {
    const line = written((logger) => logger.info({ msg: 'something', ...fields }));

    expect(line).not.toContain(SECRET);
    expect(line).toContain('[hidden]');
    expect(JSON.parse(line)).toMatchObject({ msg: 'something', level: 'info' });
  });

  it('hides what stands in the message of an error and of its causes', () => {
    const cause = new Error(`connect postgres://plinth:${SECRET}@db:5432/plinth`);
    const line = written((logger) =>
      logger.error({ err: new Error(`GET /x?token=${SECRET}`, { cause }) }),
    );

    expect(line).not.toContain(SECRET);
    expect(JSON.parse(line)).toMatchObject({
      err: {
        type: 'Error',
        message: 'GET /x?token=[hidden]',
        cause: { message: 'connect postgres://plinth:[hidden]@db:5432/plinth' },
      },
    });
  });

  it('keeps of an error what says what happened, and no request, answer or statement value', () => {
    const error = Object.assign(new Error('duplicate key'), {
      code: '23505',
      constraint: 'provider_code',
      parameters: [SECRET],
      request: { headers: { 'x-api-key': SECRET } },
      response: { body: SECRET },
      config: { data: SECRET },
    });
    const { err } = fieldsOf((logger) => logger.error({ err: error }));

    expect(err).toEqual({
      type: 'Error',
      message: 'duplicate key',
      stack: expect.stringContaining('duplicate key'),
      code: '23505',
      constraint: 'provider_code',
    });
  });

  it('leaves counts, flags and ordinary words alone', () => {
    expect(
      fieldsOf((logger) => logger.info({ promptTokens: 12, hasApiKey: true, name: 'a token' })),
    ).toMatchObject({ promptTokens: 12, hasApiKey: true, name: 'a token' });
  });

  it('survives cycles, huge texts and odd values', () => {
    const cycle: Record<string, unknown> = { big: 12n, bytes: Buffer.from('abc') };
    cycle['self'] = cycle;
    const fields = fieldsOf((logger) => logger.info({ cycle, text: 'a'.repeat(20_000) }));

    expect(fields['cycle']).toMatchObject({ big: '12', bytes: '[3 bytes]' });
    expect(String(fields['text'])).toHaveLength(8_001);
  });
});

describe('lines for people', () => {
  const text = { LOG_FORMAT: 'text' };

  it('show time, level, message and fields', () => {
    const line = written((logger) => logger.warn({ msg: 'slow', ms: 12, path: '/a b' }), text);

    expect(line).toMatch(/^\d\d:\d\d:\d\d\.\d{3} WARN {2}slow ms=12 path="\/a b"\n$/);
  });

  it('show the stack of an error and its cause below', () => {
    const error = new Error('outer', { cause: new Error('inner') });
    const [first, second, ...rest] = written(
      (logger) => logger.error({ msg: 'failed', err: error }),
      text,
    ).split('\n');

    expect(first).toMatch(/ERROR failed$/);
    expect(second).toBe('    Error: outer');
    expect(rest).toContain('    caused by');
    expect(rest).toContain('    Error: inner');
  });

  it('cannot be forged by what a stranger sends', () => {
    const line = written(
      (logger) =>
        logger.info({ msg: 'a\n12:00:00 ERROR forged', path: '/x\n12:00:00 ERROR forged' }),
      text,
    );

    expect(line.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('the format', () => {
  it('follows LOG_FORMAT, and is JSON by itself where nobody watches', () => {
    expect(logFormat(configOf({ LOG_FORMAT: 'text' }))).toBe('text');
    expect(logFormat(configOf({ LOG_FORMAT: 'json' }))).toBe('json');
    expect(logFormat(configOf({ LOG_FORMAT: 'auto' }))).toBe(
      process.stdout.isTTY ? 'text' : 'json',
    );
  });
});

describe("Nest's logger", () => {
  function logged(work: (logger: Logger) => void, context = 'ChatTurn'): Record<string, unknown> {
    return fieldsOf((pinoLogger) => {
      Logger.overrideLogger(new NestLogger(pinoLogger));
      work(new Logger(context));
      Logger.overrideLogger(false);
    });
  }

  it('turns the fields of an object into fields of the line', () => {
    expect(logged((logger) => logger.warn({ msg: 'slow', ms: 12 }))).toMatchObject({
      level: 'warn',
      context: 'ChatTurn',
      msg: 'slow',
      ms: 12,
    });
  });

  it('takes texts, errors, and a text with the stack of an error', () => {
    expect(logged((logger) => logger.log('ready'))).toMatchObject({ level: 'info', msg: 'ready' });
    expect(logged((logger) => logger.error(new Error('broken')))).toMatchObject({
      level: 'error',
      msg: 'broken',
      err: { type: 'Error', message: 'broken' },
    });
    expect(logged((logger) => logger.error('failed', new Error('x').stack))).toMatchObject({
      level: 'error',
      context: 'ChatTurn',
      msg: 'failed',
      stack: expect.stringContaining('Error: x'),
    });
  });

  it('keeps what Nest says about modules and routes for debugging', () => {
    expect(
      logged((logger) => logger.log('Mapped {/x, GET} route'), 'RouterExplorer'),
    ).toMatchObject({
      level: 'debug',
    });
    expect(logged((logger) => logger.warn('Duplicate route'), 'RouterExplorer')).toMatchObject({
      level: 'warn',
    });
  });
});
