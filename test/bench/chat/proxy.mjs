// The reference of the benchmarks: what a Node proxy costs. /chat/send parses every event of the upstream and
// writes it again in Plinth's frames; /v1/chat/completions passes the bytes on. No login, no store, no limits. With a
// database /chat/send stores the question before the call and the answer before the last event, each with one statement.
// Usage: node proxy.mjs PORT UPSTREAM_ORIGIN [DATABASE_URL]
import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import pg from 'pg';
import { Pool } from 'undici';

const [port, upstream, databaseUrl] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 2048, pipelining: 1, keepAliveTimeout: 20_000 });

const LINE_FEED = 10;
const DATA = 'data: ';
const DONE_FRAME = 'event: done\ndata: {"event":"done","done":true}\n\n';

/** Passes the bytes of one upstream answer on. */
class Bytes {
  text = '';

  frames(read) {
    return read;
  }
}

/** Turns the bytes of one upstream answer into frames; keeps a line that is cut by the end of a read. */
class Reframer {
  /** Of the answer so far. */
  text = '';
  rest = null;

  frames(read) {
    const bytes = this.rest === null ? read : Buffer.concat([this.rest, read]);
    let frames = '';
    let start = 0;
    for (let end; (end = bytes.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
      frames += this.frameOf(bytes.utf8Slice(start, end));
    }
    this.rest = start < bytes.length ? bytes.subarray(start) : null;
    return frames;
  }

  frameOf(line) {
    if (!line.startsWith(DATA)) return '';
    const data = line.slice(DATA.length);
    if (data === '[DONE]') return store ? '' : DONE_FRAME;
    const content = JSON.parse(data).choices[0]?.delta?.content;
    if (!content) return '';
    this.text += content;
    return `event: content\ndata: {"event":"content","content":${JSON.stringify(content)}}\n\n`;
  }
}

const STORED =
  'CREATE TABLE stored (id bigserial PRIMARY KEY, role text NOT NULL, content text NOT NULL)';
const STORE = 'INSERT INTO stored (role, content) VALUES ($1, $2) RETURNING id';

/** What stores a message; undefined without a database. */
async function openStore() {
  if (databaseUrl === undefined) return undefined;
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 });
  await database.query(STORED);
  return (...values) => database.query({ name: 'store', text: STORE, values });
}

/** One upstream call, piped to the client with back-pressure; all events of one read leave in one write. */
class Relay {
  constructor(response, writer) {
    this.response = response;
    this.writer = writer;
  }

  onRequestStart(controller) {
    this.controller = controller;
    this.response.once('close', () => {
      if (!this.ended) controller.abort(new Error('The client has left'));
    });
  }

  onResponseStart(_controller, status) {
    if (status !== 200) throw new Error(`The upstream answered ${status}`);
    this.response.writeHead(200, {
      'Content-Type': 'text/event-stream; charset=utf-8',
      'Cache-Control': 'no-cache',
    });
  }

  onResponseData(controller, read) {
    const frames = this.writer.frames(read);
    if (frames.length === 0 || this.response.write(frames)) return;
    controller.pause();
    this.response.once('drain', () => controller.resume());
  }

  async onResponseEnd() {
    this.ended = true;
    if (store) await store('assistant', this.writer.text);
    this.response.end(store && DONE_FRAME);
  }

  onResponseError() {
    this.ended = true;
    this.response.destroy();
  }
}

/** What is sent to the upstream for the body of a request, and what writes its answer, by path. */
const routes = {
  '/chat/send': (body) => {
    const { model, content } = JSON.parse(body);
    const call = { model, stream: true, messages: [{ role: 'user', content }] };
    return { body: JSON.stringify(call), writer: new Reframer() };
  },
  '/v1/chat/completions': (body) => ({
    body: JSON.stringify(JSON.parse(body)),
    writer: new Bytes(),
  }),
};

async function send({ body, writer }, response) {
  if (store) await store('user', body);
  pool.dispatch(
    {
      path: '/v1/chat/completions',
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: 'Bearer sk-bench' },
      body,
    },
    new Relay(response, writer),
  );
}

const store = await openStore();

createServer((request, response) => {
  const route = request.method === 'POST' ? routes[request.url] : undefined;
  if (!route) {
    response.writeHead(request.url === '/health/ready' ? 200 : 404).end();
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece) => (body += piece));
  request.on('end', () => send(route(body), response));
}).listen(Number(port), '127.0.0.1');
