import type { OutgoingHttpHeaders } from 'node:http';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from './exchange.js';
import { FaultyOutput } from './faulty-output.js';
import type { JsonValue } from './json.js';

const JSON_TYPE = 'application/json; charset=utf-8';

/** Answers JSON, late or broken when the behaviour says so. */
export async function replyJson(
  exchange: Exchange,
  status: number,
  value: JsonValue,
  behaviour: Behaviour = {},
): Promise<void> {
  const text = JSON.stringify(value);
  const { firstMs = 0, malformed, headers } = behaviour;
  await exchange.pause(firstMs);
  if (behaviour.reset === 0) return exchange.reset();
  if (behaviour.stall === 0) return exchange.pause(Infinity);
  exchange.sendHead(status, { 'content-type': JSON_TYPE, ...headers });
  const output = new FaultyOutput(exchange, behaviour);
  const { cut, reset, stall } = behaviour;
  const isBroken = [cut, reset, stall, malformed].some((chunks) => chunks !== undefined);
  const bodyText = cut === 0 ? '' : text.slice(0, isBroken ? text.length / 2 : undefined);
  await output.write(bodyText);
  await output.flush();
  if (reset !== undefined) return exchange.reset();
  if (stall !== undefined) await exchange.pause(Infinity);
  exchange.end();
}

/** Answers bytes of a media type, late or broken when the behaviour says so. */
export async function replyBytes(
  exchange: Exchange,
  type: string,
  bytes: Buffer,
  behaviour: Behaviour = {},
): Promise<void> {
  const { firstMs = 0, reset, stall, headers } = behaviour;
  await exchange.pause(firstMs);
  if (reset === 0) return exchange.reset();
  if (stall === 0) return exchange.pause(Infinity);
  const head = { 'content-type': type, ...headers };
  if (reset === undefined && stall === undefined) return replyRaw(exchange, 200, head, bytes);
  exchange.sendHead(200, { ...head, 'content-length': bytes.length });
  await exchange.write(bytes.subarray(0, bytes.length / 2));
  if (reset !== undefined) return exchange.reset();
  await exchange.pause(Infinity);
}

/** Answers a body as it is, with its length declared. */
export async function replyRaw(
  exchange: Exchange,
  status: number,
  headers: OutgoingHttpHeaders,
  bytes: Buffer,
): Promise<void> {
  exchange.sendHead(status, { ...headers, 'content-length': bytes.length });
  await exchange.write(bytes);
  exchange.end();
}
