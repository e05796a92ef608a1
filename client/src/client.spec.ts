import { createServer } from 'node:http';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiError, ConnectionError, createPlinth, withMessage } from './index.js';
import type { ChatEvent, HarnessNews, Plinth, UserNews } from './index.js';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

let plinth: Plinth;
let server: Server;
let url: string;
let requests: { line: string; headers: IncomingMessage['headers']; body: string }[] = [];
/** The answers to the next requests; the last one answers all others. */
let answers: Handler[] = [];
let ended = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    let body = '';
    request.setEncoding('latin1').on('data', (text: string) => (body += text));
    request.on('end', () => {
      requests.push({ line: `${request.method} ${request.url}`, headers: request.headers, body });
      const [answer] = answers.length > 1 ? answers.splice(0, 1) : answers;
      answer?.(request, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

beforeEach(() => {
  requests = [];
  ended = 0;
  plinth = createPlinth({
    baseUrl: `${url}/`,
    token: () => 'the-token',
    clientId: () => 'the-client',
    language: () => 'zh-CN',
    onUnauthenticated: () => void (ended += 1),
  });
});

function json(body: unknown, status = 200): Handler {
  return (_request, response) => {
    response.writeHead(status, {
      'Content-Type': 'application/json; charset=utf-8',
      'X-Request-Id': 'request-1',
    });
    response.end(JSON.stringify(body));
  };
}

/** Sends the frames; then `end` ends the stream, `cut` breaks the connection. */
function stream(frames: string, then: 'end' | 'cut' = 'end'): Handler {
  return (_request, response) => {
    response.writeHead(200, { 'Content-Type': 'text/event-stream', 'X-Request-Id': 'request-2' });
    response.write(frames, () => {
      if (then === 'end') response.end();
      else response.destroy();
    });
  };
}

async function thrownBy(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => error,
  );
}

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const seen: Item[] = [];
  for await (const item of items) seen.push(item);
  return seen;
}

describe('a function of the client', () => {
  it('is there for no route of other callers', () => {
    const others = /^(scim|ssoAuth(Start|Callback|Backchannel)$)/;

    expect(Object.keys(plinth).filter((name) => others.test(name))).toEqual([]);
    expect(Object.keys(plinth)).toContain('ssoAuthExchange');
  });

  it('answers the contents of an envelope, and says who calls', async () => {
    answers = [json({ code: 200, msg: 'Done.', total: 1, rows: [{ id: 7 }] })];

    const { rows, total } = await plinth.modelList({ query: { pageSize: 20, modelName: 'gpt 4' } });

    expect({ id: rows[0]?.id, total }).toEqual({ id: 7, total: 1 });
    expect(requests[0]?.line).toBe('GET /system/model/list?pageSize=20&modelName=gpt%204');
    expect(requests[0]?.headers).toMatchObject({
      authorization: 'Bearer the-token',
      clientid: 'the-client',
      'accept-language': 'zh-CN',
    });
  });

  it('calls with an API key in place of a sign-in', async () => {
    answers = [json({ code: 200, msg: 'Done.', total: 0, rows: [] })];

    await createPlinth({ baseUrl: url, apiKey: 'the-key' }).modelList({ query: {} });

    expect(requests[0]?.headers.authorization).toBe('Bearer the-key');
    expect(requests[0]?.headers).not.toHaveProperty('clientid');
  });

  it('belongs to one instance', async () => {
    answers = [json({ code: 401, msg: 'Sign in.', data: null })];
    const other = createPlinth({ baseUrl: url, token: () => 'another' });

    const calls = [plinth.modelList({ query: {} }), other.modelList({ query: {} })];
    await Promise.allSettled(calls);

    const tokens = requests.map(({ headers }) => headers.authorization).sort();
    expect(tokens).toEqual(['Bearer another', 'Bearer the-token']);
    expect(ended).toBe(1);
  });

  it('answers data where it stands alone, and null for a status', async () => {
    answers = [
      json({ code: 200, msg: 'Done.', data: { access_token: 'new' } }),
      json({ code: 200, msg: 'Done.', data: null }),
    ];

    const login = await plinth.authLogin({
      body: { clientId: 'web', username: 'ann', password: 'secret', grantType: 'password' },
    });

    expect(login.access_token).toBe('new');
    expect(await plinth.modelRemove({ path: { ids: ['1', '2'] } })).toBeNull();
    expect(requests[1]?.line).toBe('DELETE /system/model/1,2');
  });

  it('answers the message of the server beside the result where that is asked for', async () => {
    answers = [
      json({ code: 200, msg: 'Done. 1 agent uses gpt 4.', data: null }),
      json({ code: 409, msg: 'The name is taken.', data: null }),
    ];

    const removed = await withMessage(plinth.modelRemove, { path: { ids: ['1'] } });

    expect(removed).toEqual({ result: null, message: 'Done. 1 agent uses gpt 4.' });
    const refused = withMessage(plinth.modelRemove, { path: { ids: ['1'] } });
    expect(await thrownBy(refused)).toMatchObject({ name: 'ApiError', code: 409 });
  });

  it('keeps what stands beside data', async () => {
    answers = [json({ code: 200, msg: 'Done.', data: [], channels: {}, scale: 'cosine' })];

    const found = await plinth.retrievalSearch({ body: { knowledgeId: 1, query: 'warranty' } });

    expect(found).toEqual({ data: [], channels: {}, scale: 'cosine' });
  });

  it('sends texts where the route reads files as well', async () => {
    answers = [json({ code: 200, msg: 'Done.', data: { added: 1 } })];
    const body = { queries: '{"_id":"q1","text":"Warranty?"}', qrels: 'q1\twarranty\t1' };

    await plinth.testSetImport({ path: { knowledgeId: 1 }, body });

    expect(JSON.parse(requests[0]?.body ?? '')).toEqual(body);
  });

  it('answers a workbook as a file with its name', async () => {
    answers = [
      (_request, response) => {
        response.writeHead(200, {
          'Content-Type': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
          'Content-Disposition': `attachment; filename="models.xlsx"; filename*=UTF-8''mod%C3%A8les.xlsx`,
        });
        response.end('PK');
      },
    ];

    const file = await plinth.modelExport({ body: { category: 'chat' } });

    expect(file.name).toBe('modèles.xlsx');
    expect(await file.text()).toBe('PK');
    expect(requests[0]?.body).toBe('{"category":"chat"}');
  });

  it('answers a text that is sent as a file as one, too', async () => {
    answers = [
      (_request, response) => {
        response.writeHead(200, {
          'Content-Type': 'text/csv; charset=utf-8',
          'Content-Disposition': 'attachment; filename=usage.csv',
        });
        response.end('\uFEFFid');
      },
    ];

    const file = await plinth.usageExport();

    expect(file.name).toBe('usage.csv');
    expect([...(await file.bytes())]).toEqual([0xef, 0xbb, 0xbf, 0x69, 0x64]);
  });

  it('throws ApiError for a failure in an envelope', async () => {
    answers = [json({ code: 409, msg: 'The name is taken.', data: { errorCode: 'TAKEN' } })];

    const error = await thrownBy(plinth.modelList());

    expect(error).toBeInstanceOf(ApiError);
    expect(error).toMatchObject({
      code: 409,
      status: 200,
      message: 'The name is taken.',
      data: { errorCode: 'TAKEN' },
      requestId: 'request-1',
    });
    expect(ended).toBe(0);
  });

  it('reports a sign-in that has ended', async () => {
    answers = [json({ code: 401, msg: 'Sign in again.', data: null })];

    expect(await thrownBy(plinth.modelList())).toMatchObject({ code: 401 });
    expect(ended).toBe(1);
  });

  it('throws ApiError for a failure of a proxy and for an answer that is not JSON', async () => {
    const page =
      (status: number): Handler =>
      (_request, response) => {
        response.writeHead(status, { 'Content-Type': 'text/html' }).end('<html></html>');
      };
    answers = [
      page(502),
      page(200),
      (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json' }).end('{"code":2');
      },
    ];

    expect(await thrownBy(plinth.modelList())).toMatchObject({
      name: 'ApiError',
      code: 502,
      status: 502,
    });
    const unreadable = { name: 'ApiError', message: expect.stringContaining('cannot be read') };
    expect(await thrownBy(plinth.modelList())).toMatchObject(unreadable);
    expect(await thrownBy(plinth.modelList())).toMatchObject(unreadable);
  });

  it('throws ConnectionError when the connection is lost, also in the middle of an answer', async () => {
    answers = [
      (_request, response) => response.destroy(),
      (_request, response) => {
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '99' });
        response.write('{"code":', () => response.destroy());
      },
    ];

    expect(await thrownBy(plinth.modelList())).toBeInstanceOf(ConnectionError);
    expect(await thrownBy(plinth.modelList())).toBeInstanceOf(ConnectionError);
  });

  it('ends with the reason of its signal', async () => {
    const leaving = new AbortController();
    answers = [() => leaving.abort(new Error('The page was left.'))];

    expect(await thrownBy(plinth.modelList({ signal: leaving.signal }))).toMatchObject({
      message: 'The page was left.',
    });
  });
});

describe('an upload', () => {
  it('sends files and fields as a form', async () => {
    answers = [json({ code: 200, msg: 'Done.', data: [{ name: 'a.txt' }, { name: 'b.txt' }] })];

    const outcomes = await plinth.uploadDocuments({
      knowledgeId: 3,
      file: [new File(['one'], 'a.txt'), new File(['two'], 'b.txt')],
      autoParse: true,
      metadata: { department: 'sales' },
    });

    expect(outcomes).toHaveLength(2);
    const body = requests[0]?.body ?? '';
    expect(body.match(/name="file"; filename="[ab]\.txt"/g)).toHaveLength(2);
    expect(body).toContain('{"department":"sales"}');
    expect(requests[0]?.headers['authorization']).toBe('Bearer the-token');
  });

  it('throws the outcomes of the files when one was refused', async () => {
    answers = [json({ code: 400, msg: 'b.exe is no document.', data: [{ name: 'b.exe' }] })];

    const upload = plinth.uploadDocuments({ knowledgeId: 3, file: new File(['x'], 'b.exe') });

    expect(await thrownBy(upload)).toMatchObject({ code: 400, data: [{ name: 'b.exe' }] });
  });

  it('goes through the generated function as well', async () => {
    answers = [json({ code: 200, msg: 'Done.', data: { ossId: '5' } })];

    const { ossId } = await plinth.storageUpload({ body: { file: new File(['x'], 'x.txt') } });

    expect(ossId).toBe('5');
    expect(requests[0]?.headers['content-type']).toMatch(/^multipart\/form-data; boundary=/);
  });
});

const content = (text: string): string =>
  `event: content\ndata: ${JSON.stringify({ event: 'content', content: text })}\n\n`;
const done = 'event: done\ndata: {"event":"done","done":true,"finishReason":"stop"}\n\n';

describe('streamChat', () => {
  it('reads the events up to done, and leaves out what it does not know', async () => {
    answers = [
      stream(
        `: connected\n\n${content('Grüß')}event: later\ndata: {}\n\n${content(' dich')}${done}`,
      ),
    ];

    const events = await all(plinth.streamChat({ content: 'Hi' }, { idempotencyKey: 'key-1' }));

    expect(events.map(({ event }) => event)).toEqual(['content', 'content', 'done']);
    expect(events[0]).toEqual({ event: 'content', content: 'Grüß' });
    expect(requests[0]).toMatchObject({ line: 'POST /chat/send', body: '{"content":"Hi"}' });
    expect(requests[0]?.headers).toMatchObject({
      accept: 'text/event-stream',
      'idempotency-key': 'key-1',
      authorization: 'Bearer the-token',
    });
  });

  it('throws the failure of a turn after what came before it', async () => {
    const failure = 'event: error\ndata: {"event":"error","error":"No key."}\n\n';
    answers = [stream(`${content('So')}${failure}event: [ERROR]\ndata: {"msg":"No key."}\n\n`)];
    const seen: ChatEvent[] = [];

    const reading = (async () => {
      for await (const event of plinth.streamChat({ content: 'Hi' })) seen.push(event);
    })();

    expect(await thrownBy(reading)).toMatchObject({
      name: 'ApiError',
      message: 'No key.',
      code: 500,
      data: null,
      requestId: 'request-2',
    });
    expect(seen).toEqual([{ event: 'content', content: 'So' }]);
  });

  it('throws the code and the data of a failed turn', async () => {
    const failure = { error: 'The limit is reached.', code: 429, data: { retryAfterSeconds: 5 } };
    answers = [stream(`event: error\ndata: ${JSON.stringify({ event: 'error', ...failure })}\n\n`)];

    const { error: message, ...details } = failure;
    expect(await thrownBy(all(plinth.streamChat({ content: 'Hi' })))).toMatchObject({
      ...details,
      message,
    });
  });

  it('throws a refusal in an envelope', async () => {
    answers = [json({ code: 401, msg: 'Sign in again.', data: null })];

    expect(await thrownBy(all(plinth.streamChat({ content: 'Hi' })))).toMatchObject({ code: 401 });
    expect(ended).toBe(1);
  });

  it.each(['end', 'cut'] as const)('throws ConnectionError at an early %s', async (then) => {
    answers = [stream(content('So'), then)];

    expect(await thrownBy(all(plinth.streamChat({ content: 'Hi' })))).toBeInstanceOf(
      ConnectionError,
    );
  });

  it('reads a detached turn on after lost connections', async () => {
    const turn = 'id: 0\nevent: turn\ndata: {"event":"turn","turnId":"the-turn"}\n\n';
    const states: string[] = [];
    answers = [
      stream(`${turn}id: 1\n${content('So')}id: 2\nevent: con`, 'cut'),
      json({ code: 503, msg: 'Later.', data: null }),
      stream(`: connected\n\nid: 2\n${content(' it')}`),
      stream(`id: 3\n${content(' is.')}id: 4\n${done}`),
    ];

    const body = { content: 'Hi', sessionId: 3, detach: true };
    const onConnection = (state: string): void => void states.push(state);
    const events = await all(plinth.streamChat(body, { onConnection }));

    expect(events.map((event) => ('content' in event ? event.content : event.event))).toEqual([
      ...['turn', 'So', ' it', ' is.', 'done'],
    ]);
    const path = 'GET /chat/turns/the-turn/stream';
    expect(requests.map(({ line }) => line)).toEqual(['POST /chat/send', path, path, path]);
    expect(requests.map(({ headers }) => headers['last-event-id'])).toEqual([
      ...[undefined, '1', '1', '2'],
    ]);
    expect(states).toEqual([
      ...['connected', 'reconnecting', 'reconnecting', 'connected', 'reconnecting', 'connected'],
    ]);
  });

  it('ends where a detached turn has failed or is not kept', async () => {
    const failure = 'id: 5\nevent: error\ndata: {"event":"error","error":"Interrupted."}\n\n';
    answers = [stream(failure), json({ code: 404, msg: 'Load the messages.', data: null })];

    const reading = (): Promise<unknown> => thrownBy(all(plinth.streamTurn('a-turn')));
    expect(await reading()).toMatchObject({ message: 'Interrupted.', code: 500 });
    expect(await reading()).toMatchObject({ code: 404 });
    expect(requests[0]?.headers['last-event-id']).toBeUndefined();
  });

  it('closes the connection when its reader leaves', async () => {
    const closed = new Promise<void>((resolve) => {
      answers = [
        (_request, response) => {
          response.once('close', resolve);
          response.writeHead(200, { 'Content-Type': 'text/event-stream' });
          response.write(content('So'));
        },
      ];
    });

    for await (const event of plinth.streamChat({ content: 'Hi' })) {
      expect(event.event).toBe('content');
      break;
    }

    await closed;
  });
});

describe('streamModelTest', () => {
  const frame = (event: string, data: object): string =>
    `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  const step = { step: 'dns', ok: true, ms: 3, detail: 'The name has 1 address.' };
  const begun = frame('start', { step: 'dns' }) + frame('step', step);

  it('tells of each step, and of the diagnosis at the end', async () => {
    answers = [stream(begun + frame('later', {}) + frame('done', { ok: true, steps: [step] }))];

    const events = await all(plinth.streamModelTest(7, { prompt: 'Hi' }));

    expect(events).toEqual([
      { event: 'start', step: 'dns' },
      { event: 'step', step },
      { event: 'done', diagnosis: { ok: true, steps: [step] } },
    ]);
    expect(requests[0]).toMatchObject({
      line: 'POST /system/model/7/test',
      body: '{"prompt":"Hi"}',
    });
    expect(requests[0]?.headers).toMatchObject({ accept: 'text/event-stream' });
  });

  it('throws ApiError when the test is refused after it has begun', async () => {
    const refusal = { code: 429, msg: 'The limit is reached.', data: { retryAfterSeconds: 5 } };
    answers = [stream(begun + frame('error', refusal))];

    const { msg: message, ...error } = refusal;
    expect(await thrownBy(all(plinth.streamModelTest(7)))).toMatchObject({ ...error, message });
  });

  it.each(['end', 'cut'] as const)('throws ConnectionError at an early %s', async (then) => {
    answers = [stream(begun, then)];

    expect(await thrownBy(all(plinth.streamModelTest(7)))).toBeInstanceOf(ConnectionError);
  });
});

const runEvent = (sequence: number, type: string): string =>
  `id: ${sequence}\nevent: ${type}\ndata: ${JSON.stringify({ sequence, type, data: {} })}\n\n`;

describe('streamRunEvents', () => {
  it('goes on after a lost connection and a stop of the server, each event once', async () => {
    const states: string[] = [];
    answers = [
      stream(runEvent(3, 'run.started') + runEvent(4, 'plan.created')),
      json({ code: 503, msg: 'Stopping.', data: null }, 503),
      stream(runEvent(4, 'plan.created') + runEvent(5, 'run.completed')),
    ];

    const events = await all(
      plinth.streamRunEvents('s 1', 'r1', {
        after: 2,
        onConnection: (state) => states.push(state),
      }),
    );

    expect(events.map(({ sequence }) => sequence)).toEqual([3, 4, 5]);
    const path = '/coding/harness/sessions/s%201/runs/r1/events/stream';
    expect(requests.map(({ line }) => line)).toEqual([
      `GET ${path}?afterSequence=2`,
      `GET ${path}?afterSequence=4`,
      `GET ${path}?afterSequence=4`,
    ]);
    expect(states).toEqual(['connected', 'reconnecting', 'reconnecting', 'connected']);
  });

  it('ends at a run that has nothing more', async () => {
    answers = [(_request, response) => response.writeHead(204).end()];

    expect(await all(plinth.streamRunEvents('s1', 'r1', { after: 9 }))).toEqual([]);
  });

  it('throws what no second try changes', async () => {
    answers = [json({ code: 404, msg: 'No such run.', data: { errorCode: 'RUN_NOT_FOUND' } })];

    expect(await thrownBy(all(plinth.streamRunEvents('s1', 'r1')))).toMatchObject({ code: 404 });
    expect(requests).toHaveLength(1);
  });
});

describe('streamHarness', () => {
  it('asks for its runs at each connection, and says what comes of which', async () => {
    const leaving = new AbortController();
    const run = { sessionId: 's1', runId: 'r1' };
    const frame = (name: string, data: object): string =>
      `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
    answers = [
      stream(frame('inbox.count', { count: 2 }) + runEvent(3, 'run.started')),
      stream(
        frame('run.synced', run) + frame('run.over', run) + frame('inbox.count', { count: 0 }),
      ),
    ];
    let after = 2;
    const seen: HarnessNews[] = [];

    const reading = (async () => {
      const runs = () => [{ ...run, after }];
      for await (const news of plinth.streamHarness(runs, { signal: leaving.signal })) {
        seen.push(news);
        if (news.kind === 'event') after = news.event.sequence;
        if (news.kind === 'count' && news.count === 0) leaving.abort();
      }
    })();

    expect(await thrownBy(reading)).toMatchObject({ name: 'AbortError' });
    expect(seen).toMatchObject([
      { kind: 'count', count: 2 },
      { kind: 'event', event: { sequence: 3 } },
      { kind: 'synced', runId: 'r1' },
      { kind: 'over', runId: 'r1' },
      { kind: 'count', count: 0 },
    ]);
    expect(requests.map(({ line }) => line)).toEqual(
      Array(2).fill('POST /coding/harness/events/stream'),
    );
    expect(requests.map(({ body }) => JSON.parse(body) as unknown)).toEqual([
      { runs: [{ ...run, afterSequence: 2 }] },
      { runs: [{ ...run, afterSequence: 3 }] },
    ]);
  });
});

describe('streamUserEvents', () => {
  const frame = (id: number, sequence: number): string =>
    runEvent(sequence, 'run.started').replace(/^id: .*/, `id: ${id}`);

  it('begins now, and goes on after the last number, of an event or of the end of what was stored', async () => {
    const leaving = new AbortController();
    answers = [
      stream(': connected\n\n: sync 40\n\n'),
      stream(`: connected\n\n${frame(41, 7)}`),
      stream(`: connected\n\n${frame(42, 1)}: sync 42\n\n`),
    ];
    const seen: UserNews[] = [];
    const reading = (async () => {
      for await (const news of plinth.streamUserEvents({ signal: leaving.signal })) {
        seen.push(news);
        if (news.position === 42 && news.kind === 'synced') leaving.abort();
      }
    })();

    expect(await thrownBy(reading)).toMatchObject({ name: 'AbortError' });
    expect(seen).toMatchObject([
      { kind: 'synced', position: 40 },
      { kind: 'event', position: 41, event: { sequence: 7 } },
      { kind: 'event', position: 42, event: { sequence: 1 } },
      { kind: 'synced', position: 42 },
    ]);
    const path = '/coding/harness/events/stream';
    expect(requests.map(({ line }) => line)).toEqual([
      `GET ${path}`,
      `GET ${path}?afterSequence=40`,
      `GET ${path}?afterSequence=41`,
    ]);
  });
});

describe('streamNotices', () => {
  it('reads notices until its signal aborts', async () => {
    const leaving = new AbortController();
    answers = [stream('event: approval\ndata: 4\n\n')];
    const seen: unknown[] = [];

    const reading = (async () => {
      for await (const notice of plinth.streamNotices({ signal: leaving.signal })) {
        seen.push(notice);
        leaving.abort();
      }
    })();

    expect(await thrownBy(reading)).toMatchObject({ name: 'AbortError' });
    expect(seen).toEqual([{ event: 'approval', data: '4' }]);
    expect(requests[0]?.line).toBe('GET /resource/sse');
  });
});
