import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Simulator, startSimulator } from '../index.js';
import { contentIn, open, send, until } from '../wire-client.js';

const TWO_MEBIBYTES = 2 * 1024 * 1024;

let simulator: Simulator;
beforeAll(async () => {
  simulator = await startSimulator();
});
beforeEach(() => simulator.reset());
afterAll(() => simulator.close());

const url = () => `${simulator.url}/v1/chat/completions`;
const body = (words: string, more = {}) => ({
  model: `sim--${words}`,
  messages: [{ role: 'user', content: 'say  this\nagain' }],
  stream: true,
  ...more,
});
const stream = (words: string, more = {}) => send(url(), body(words, more));

describe('failures before the first byte', () => {
  it('answers a status with retry-after in seconds or as a date', async () => {
    const seconds = await stream('status-429--retryafter-2');
    expect(seconds.status).toBe(429);
    expect(seconds.headers['retry-after']).toBe('2');
    const date = await stream('status-503--retryafterdate-2');
    const ahead = Date.parse(date.headers['retry-after'] ?? '') - Date.now();
    expect(ahead).toBeGreaterThan(1000);
    expect(ahead).toBeLessThanOrEqual(3000);
  });

  it('fails the first requests of a name only, and again after a reset', async () => {
    const statuses = async () => [
      (await stream('failfirst-2')).status,
      (await stream('failfirst-2')).status,
      (await stream('failfirst-2')).status,
    ];
    expect(await statuses()).toEqual([503, 503, 200]);
    simulator.reset();
    expect(await statuses()).toEqual([503, 503, 200]);
  });

  it('leaks the credential and an address in the error text', async () => {
    const { status, text } = await stream('leak');
    expect(status).toBe(401);
    expect(text).toMatch(/provided: key\. .*http:\/\//);
  });

  it('sends the first byte late', async () => {
    const start = performance.now();
    await stream('first-60--chunks-1');
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
  });
});

describe('an answer that is held', () => {
  it('begins when it is released, and not because of an earlier release', async () => {
    simulator.release();
    simulator.script({ hold: true, text: 'at last' }, { hold: true, status: 503 });
    let answered = 0;
    const ask = async () => {
      const arrival = await send(url(), { ...body('chunks-1'), model: 'm' });
      answered += 1;
      return arrival;
    };
    const first = ask();
    await until(() => simulator.held === 1);
    const second = ask();
    await until(() => simulator.held === 2);
    expect((await send(url(), { ...body(''), model: 'm' })).status).toBe(200);
    expect([answered, simulator.held]).toEqual([0, 2]);
    await send(`${simulator.url}/__release`, {});
    expect(contentIn((await first).text)).toBe('at last');
    expect((await second).status).toBe(503);
    expect(simulator.held).toBe(0);
  });

  it('is held no longer when the client leaves, after a reset and at the end', async () => {
    const other = await startSimulator();
    const headers = { authorization: 'Bearer key' };
    const hold = (more = {}) => {
      other.script({ hold: true });
      const asked = JSON.stringify({ ...body('chunks-1'), model: 'm' });
      const call = { method: 'POST', headers, body: asked, ...more };
      return fetch(`${other.url}/v1/chat/completions`, call).then(
        ({ status }) => status,
        () => 'broken',
      );
    };
    const leaving = new AbortController();
    const left = hold({ signal: leaving.signal });
    await until(() => other.held === 1);
    leaving.abort();
    expect(await left).toBe('broken');
    await until(() => other.held === 0);
    const reset = hold();
    await until(() => other.held === 1);
    other.reset();
    expect(await reset).toBe(200);
    const cut = hold();
    await until(() => other.held === 1);
    await other.close();
    expect(await cut).toBe('broken');
    expect(other.held).toBe(0);
  });
});

describe('failures in mid-stream', () => {
  it('cuts without a finish, or only leaves out the end mark', async () => {
    const cut = await stream('chunks-5--cut-2');
    expect(contentIn(cut.text)).toBe('tok0 tok1 ');
    expect(cut.text).not.toMatch(/\[DONE\]|"finish_reason":"/);
    const noDone = await stream('chunks-2--nodone');
    expect(noDone.text).toContain('"finish_reason":"stop"');
    expect(noDone.text).not.toContain('[DONE]');
  });

  it('resets the connection', async () => {
    const { text, broken } = await stream('chunks-5--reset-2');
    expect(contentIn(text)).toBe('tok0 tok1 ');
    expect(broken).toBe('ECONNRESET');
    expect(simulator.requests[0]?.ended).toBe('reset');
  });

  it('sends an error object, with secrets when asked, and something that is not JSON', async () => {
    const failed = await stream('chunks-5--error-2--leak');
    expect(contentIn(failed.text)).toBe('tok0 tok1 ');
    expect(failed.text).toMatch(/data: \{"error":\{"message":"Incorrect API key provided: key/);
    const malformed = await stream('chunks-3--malformed-1');
    expect(malformed.text).toContain('"delta":\n\n');
    expect(contentIn(malformed.text)).toBe('tok0 tok1 tok2 ');
  });

  it('hangs, with comments meanwhile, until the client leaves', async () => {
    const response = await open(url(), body('chunks-5--stall-1--comments-5'));
    let text = '';
    for await (const part of response as AsyncIterable<Buffer>) {
      text += part.toString();
      if (text.split(': keep-alive\n\n').length > 3) break;
    }
    expect(contentIn(text)).toBe('tok0 ');
    await until(() => simulator.openConnections() === 0);
    expect(simulator.requests[0]?.ended).toBe('client-closed');
  });

  it('breaks blocking answers too', async () => {
    const blocking = { stream: false };
    expect((await stream('cut-0', blocking)).text).toBe('');
    expect((await stream('malformed-0', blocking)).json).toEqual({});
    expect((await stream('reset-1', blocking)).broken).toBe('ECONNRESET');
    expect((await stream('emptychoices', blocking)).json).toMatchObject({ choices: [] });
    const { status, json } = await stream('error-0', blocking);
    expect([status, Object.keys(json)]).toEqual([200, ['error']]);
  });
});

describe('unusual but valid streams', () => {
  it('cuts writes inside characters, which still join to the same text', async () => {
    const whole = await stream('unicode');
    const { parts, text } = await stream('unicode--bytesplit--crlf');
    expect(contentIn(text)).toBe(contentIn(whole.text));
    expect(text).toContain('\r\n\r\n');
    expect(parts.length).toBeGreaterThan(20);
    expect(parts.some((part) => part.toString().includes('\u{FFFD}'))).toBe(true);
  });

  it('sends everything in one write, or one huge event', async () => {
    expect((await stream('chunks-50--onewrite')).parts).toHaveLength(1);
    expect(contentIn((await stream('huge')).text)).toHaveLength(TWO_MEBIBYTES);
  });

  it('sends bytes that are not UTF-8', async () => {
    const { parts } = await stream('wrongutf8');
    expect(Buffer.concat(parts).includes(Buffer.from([0xc3, 0x28, 0xff]))).toBe(true);
  });

  it('echoes, refuses, stops at the limit, calls a tool, and leaves out choices and usage', async () => {
    expect(contentIn((await stream('echo')).text)).toBe('say  this\nagain');
    expect((await stream('refusal')).text).toContain('"delta":{"refusal":"');
    expect((await stream('length')).text).toContain('"finish_reason":"length"');
    expect((await stream('toolcall-get_time')).text).toContain('"name":"get_time"');
    expect((await stream('emptychoices')).text).toMatch(/^data: .*"choices":\[\]/);
    expect((await stream('nousage', { stream: false })).json).not.toHaveProperty('usage');
  });

  it('keeps its pace', async () => {
    const start = performance.now();
    await stream('chunks-4--delay-20');
    expect(performance.now() - start).toBeGreaterThanOrEqual(55);
  });
});
