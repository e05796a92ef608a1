import { describe, expect, it } from '@jest/globals';
import { chatCompletions, ChatCompletionsStream } from './chat-completions.protocol.js';
import { messages, MessagesStream } from './messages.protocol.js';
import type { ChatProtocol } from './protocol.adapter.js';
import type { ChatPart } from './chat.adapter.js';
import { EventRelay } from './relay.js';
import type { RelayForm } from './relay.js';

const dialect = { maxOutputField: 'max_tokens', streamUsage: true, json: 'schema' } as const;
const protocol = chatCompletions({ address: { prefix: '/v1' }, dialect });
const form = formOf(protocol);

function formOf({ relayed }: ChatProtocol): RelayForm {
  if (!relayed) throw new Error('The protocol cannot be relayed.');
  return relayed;
}

const secrets = { address: 'https://models.example/v1', credential: 'key-abcdefgh-12345' };
const END = event({ choices: [{ delta: {}, finish_reason: 'stop' }] }) + 'data: [DONE]\n\n';

function event(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

function text(content: string): string {
  return event({ choices: [{ delta: { content } }] });
}

function args(piece: string): string {
  const call = { index: 0, id: 'c', function: { name: 'f', arguments: piece } };
  return event({ choices: [{ delta: { tool_calls: [call] } }] });
}

function inDelta(delta: object): string {
  return event({ choices: [{ delta }] });
}

/** What is passed on of the reads, and the failure that ended it. */
function relayed(
  reads: readonly string[],
  withUsage = true,
): { passed: string; parts: ChatPart[]; failure: unknown } {
  const relay = new EventRelay(new ChatCompletionsStream(secrets, true, 'unusable'), {
    form,
    secrets,
    withUsage,
  });
  const parts: ChatPart[] = [];
  let passed = '';
  try {
    for (const read of reads) {
      relay.read(Buffer.from(read), parts);
      passed += relay.take().toString();
    }
    relay.end(parts);
    passed += relay.take().toString();
    return { passed, parts, failure: undefined };
  } catch (failure) {
    return { passed: passed + relay.take().toString(), parts, failure };
  }
}

describe('EventRelay', () => {
  it('passes whole events on as they came, wherever the reads are cut', () => {
    const stream = `: hello\n\n${text('Héllo 🎈')}${args('{"a": 1}')}${END}`;
    const bytes = Buffer.from(stream);
    for (const size of [1, 3, 7, bytes.length]) {
      const relay = new EventRelay(new ChatCompletionsStream(secrets, true), {
        form,
        secrets,
        withUsage: true,
      });
      const passed: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += size) {
        relay.read(bytes.subarray(at, at + size), []);
        const ready = relay.take();
        if (ready.length > 0) expect(ready.toString()).toMatch(/\n\n$/);
        passed.push(ready);
      }
      relay.end([]);
      expect(Buffer.concat([...passed, relay.take()])).toEqual(bytes);
    }
  });

  it('leaves out the event of the usage that only the service wants', () => {
    const usage = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 1 } });
    const [answer, last] = [text('Hi'), 'data: [DONE]\n\n'];
    const stop = event({ choices: [{ delta: {}, finish_reason: 'stop' }] });

    expect(relayed([answer + stop + usage + last]).passed).toBe(answer + stop + usage + last);
    const { passed, parts } = relayed([answer + stop + usage + last], false);
    expect(passed).toBe(answer + stop + last);
    expect(parts).toContainEqual(
      expect.objectContaining({ usage: expect.objectContaining({ inputTokens: 3 }) }),
    );
  });

  it('fails for an answer that is cut, after the events before it', () => {
    const { passed, failure } = relayed([text('Hello.'), 'data: {"choi']);

    expect(failure).toMatchObject({ kind: 'cut' });
    expect(passed).toBe(text('Hello.'));
  });

  it.each([
    ['has arguments that are not JSON', args('{"a":'), 'tool_calls'],
    ['is cut', args('{"a":'), 'length'],
    ['is of no function', inDelta({ tool_calls: [{ index: 0, custom: {} }] }), 'tool_calls'],
  ])('passes a call on that %s, which the client judges, and reads on', (_, call, reason) => {
    const stop = event({ choices: [{ delta: {}, finish_reason: reason }] });
    const usage = event({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 9 } });
    const reads = [call, stop, usage, 'data: [DONE]\n\n'];

    expect(relayed(reads)).toMatchObject({
      passed: reads.join(''),
      failure: undefined,
      parts: [{ usage: { outputTokens: 9 } }, { type: 'finish', raw: reason }],
    });
  });
});

describe('EventRelay of the messages protocol', () => {
  const own = formOf(messages({ prefix: '/v1' }));
  const block = (delta: object, index = 0): string =>
    event({ type: 'content_block_delta', index, delta });
  const said = (text: string): string => block({ type: 'text_delta', text });
  const stop =
    event({ type: 'message_delta', delta: { stop_reason: 'end_turn' } }) +
    event({ type: 'message_stop' });

  function passedOf(reads: readonly string[]): { passed: string; failure: unknown } {
    const answer = new MessagesStream(secrets, true);
    const relay = new EventRelay(answer, { form: own, secrets, withUsage: true });
    let passed = '';
    try {
      for (const read of reads) {
        relay.read(Buffer.from(read), []);
        passed += relay.take().toString();
      }
      relay.end([]);
      return { passed: passed + relay.take().toString(), failure: undefined };
    } catch (failure) {
      return { passed: passed + relay.take().toString(), failure };
    }
  }

  it('passes on what it does not know', () => {
    const signature = block({ type: 'signature_delta', signature: 'c2ln' });
    const reads = [event({ type: 'later_event' }), signature, said('Hi'), stop];

    expect(passedOf(reads)).toEqual({ passed: reads.join(''), failure: undefined });
  });

  it('ends with an error of the service, in its own words alone', () => {
    const error = { type: 'overloaded_error', message: 'Busy' };
    const { passed, failure } = passedOf([said('Hello.'), event({ type: 'error', error })]);

    expect(failure).toMatchObject({ kind: 'overloaded' });
    expect(passed).toBe(said('Hello.'));
  });
});

describe('the relayed body', () => {
  it('keeps every field, and names the output limit as the service does', () => {
    const body = { model: 'm', vendor: { a: [null] }, max_completion_tokens: 5 };

    expect(form.body(body)).toEqual({
      model: 'm',
      vendor: { a: [null] },
      max_tokens: 5,
    });
  });

  it('asks for usage in every stream, beside the options that are given', () => {
    const body = { stream: true, stream_options: { x: 1 } };

    expect(form.body(body)).toEqual({
      stream: true,
      stream_options: { x: 1, include_usage: true },
    });
  });
});
