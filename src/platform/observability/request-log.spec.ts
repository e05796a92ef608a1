import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { Controller, Get, Param, Res } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { Response } from 'express';
import { pino } from 'pino';
import { setEnvelopeCode } from '../error/index.js';
import { setIgnoredParameters } from '../http/index.js';
import type { AnsweredRequest } from './metrics.js';
import { requestLog } from './log.js';

@Controller()
class TestController {
  @Get('thing/:id')
  one(@Param('id') id: string): string {
    return id;
  }

  /** A stream that notes its own code and does not end by itself. */
  @Get('stream')
  stream(@Res() response: Response): void {
    setEnvelopeCode(response, 200);
    response.write('first');
  }

  @Get('ignoring')
  ignoring(@Res() response: Response): void {
    response.write('first');
    setIgnoredParameters(response, ['seed', 'tools[0].strict']);
    response.end();
  }

  @Get('silent')
  silent(@Res() _response: Response): void {
    // Never answers: the client leaves first.
  }

  @Get('failing')
  failing(@Res() response: Response): void {
    setEnvelopeCode(response, 500);
    response.json({ code: 500 });
  }

  @Get('health/ready')
  ready(@Res() response: Response): void {
    response.status(503).end();
  }
}

class TestModule {}
Reflect.defineMetadata('controllers', [TestController], TestModule);

const lines: Record<string, unknown>[] = [];
const counted: AnsweredRequest[] = [];
let app: NestExpressApplication;
let url: string;
let wake = (): void => undefined;

beforeAll(async () => {
  const logger = pino(
    { level: 'debug', base: null, timestamp: false, formatters: { level: (level) => ({ level }) } },
    {
      write: (line) => {
        lines.push(JSON.parse(line) as Record<string, unknown>);
        wake();
      },
    },
  );
  app = await NestFactory.create<NestExpressApplication>(TestModule, { logger: false });
  app.use(requestLog(logger, { answered: (request) => void counted.push(request) }));
  await app.listen(0, '127.0.0.1');
  url = `http://127.0.0.1:${(app.getHttpServer().address() as AddressInfo).port}`;
});

beforeEach(() => {
  lines.length = 0;
  counted.length = 0;
});

afterAll(() => app.close());

async function lineOf(path: string, leave?: AbortController): Promise<Record<string, unknown>> {
  const written = new Promise<void>((resolve) => (wake = resolve));
  const answer = fetch(url + path, leave ? { signal: leave.signal } : {});
  if (leave) {
    const [request] = (await once(app.getHttpServer(), 'request')) as [{ url: string }];
    expect(request.url).toBe(path);
    setImmediate(() => leave.abort());
    await expect(answer.then((response) => response.text())).rejects.toThrow();
  } else await (await answer).text();
  await written;
  expect(lines).toHaveLength(1);
  return lines[0] ?? {};
}

describe('the line of a request', () => {
  it('shows the pattern beside the path, and the metric the pattern alone', async () => {
    expect(await lineOf('/thing/12?token=secret')).toEqual({
      level: 'info',
      msg: 'request',
      method: 'GET',
      route: '/thing/:id',
      path: '/thing/12',
      code: 200,
      ms: expect.any(Number),
      bytes: expect.any(Number),
    });
    expect(counted).toEqual([
      { method: 'GET', route: '/thing/:id', code: '200', seconds: expect.any(Number) },
    ]);
  });

  it('shows the code of the envelope where the HTTP status is 200', async () => {
    expect(await lineOf('/failing')).toMatchObject({ level: 'warn', code: 500 });
    expect(counted).toMatchObject([{ route: '/failing', code: '500' }]);
  });

  it('says that the client left a stream, whose own code it keeps', async () => {
    expect(await lineOf('/stream', new AbortController())).toMatchObject({
      code: 200,
      aborted: true,
    });
    expect(counted).toMatchObject([{ route: '/stream', code: '200' }]);
  });

  it('has no code when the client left before an answer', async () => {
    expect(await lineOf('/silent', new AbortController())).toMatchObject({
      level: 'info',
      code: 'aborted',
      aborted: true,
    });
    expect(counted).toMatchObject([{ route: '/silent', code: 'aborted' }]);
  });

  it('names the parameters that were left out, also of an answer that had begun', async () => {
    expect(await lineOf('/ignoring')).toMatchObject({ ignored: 'seed, tools[0].strict' });
  });

  it('of a probe is for debugging, whatever its answer', async () => {
    expect(await lineOf('/health/ready')).toMatchObject({ level: 'debug', code: 503 });
  });

  it('of an unknown path has no pattern', async () => {
    expect(await lineOf('/nowhere')).toMatchObject({ route: 'unmatched', code: 404 });
  });
});
