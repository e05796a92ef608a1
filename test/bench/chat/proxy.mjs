// The reference of the benchmarks: what a Node proxy costs. /chat/send parses every event of the upstream and
// writes it again in Plinth's frames; /v1/chat/completions passes the bytes on. No login, no store, no limits.
// Usage: node proxy.mjs PORT UPSTREAM_ORIGIN
import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import { Pool } from 'undici';

const [port, upstream] = process.argv.slice(2);
const pool = new Pool(upstream, { connections: 2048, pipelining: 1, keepAliveTimeout: 20_000 });

const LINE_FEED = 10;
const DATA = 'data: ';
const DONE_FRAME = 'event: done\ndata: {"event":"done","done":true}\n\n';

/** Passes the bytes of one upstream answer on. */
class Bytes {
  frames(read) {
    return read;
  }
}

/** Turns the bytes of one upstream answer into frames; keeps a line that is cut by the end of a read. */
class Reframer {
  rest = null;

  frames(read) {
    const bytes = this.rest === null ? read : Buffer.concat([this.rest, read]);
    let frames = '';
    let start = 0;
    for (let end; (end = bytes.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
      frames += frameOf(bytes.utf8Slice(start, end));
    }
    this.rest = start < bytes.length ? bytes.subarray(start) : null;
    return frames;
  }
}

function frameOf(line) {
  if (!line.startsWith(DATA)) return '';
  const data = line.slice(DATA.length);
  if (data === '[DONE]') return DONE_FRAME;
  const content = JSON.parse(data).choices[0]?.delta?.content;
  if (!content) return '';
  return `event: content\ndata: {"event":"content","content":${JSON.stringify(content)}}\n\n`;
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

  onResponseEnd() {
    this.ended = true;
    this.response.end();
  }

  onResponseError() {
    this.ended = true;
    this.response.destroy();
  }
}

/** What is sent to the upstream for the body of a request, and what writes its answer, by path. */
const doors = {
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

function send({ body, writer }, response) {
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

createServer((request, response) => {
  const door = request.method === 'POST' ? doors[request.url] : undefined;
  if (!door) {
    response.writeHead(request.url === '/health/ready' ? 200 : 404).end();
    return;
  }
  let body = '';
  request.setEncoding('utf8');
  request.on('data', (piece) => (body += piece));
  request.on('end', () => send(door(body), response));
}).listen(Number(port), '127.0.0.1');
