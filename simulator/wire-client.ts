import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { setTimeout } from 'node:timers/promises';
import { type JsonObject, objectOf, objectsOf, parseJson, stringOf } from './http/json.js';

/** How a response arrived: every write of the server that came in alone is one part. */
interface Arrival {
  status: number;
  headers: IncomingHttpHeaders;
  parts: Buffer[];
  text: string;
  json: JsonObject;
  /** Code of the error that ended the response before its time, such as ECONNRESET. */
  broken: string | undefined;
}

const HEADERS = {
  authorization: 'Bearer key',
  'x-api-key': 'key',
  'anthropic-version': '2023-06-01',
  'content-type': 'application/json',
};

/** Sends a request as specs do, and returns the response as soon as its head is there. */
export async function open(
  url: string,
  body?: JsonObject | JsonObject[],
  headers: Record<string, string> = {},
): Promise<IncomingMessage> {
  const method = body === undefined ? 'GET' : 'POST';
  const request = httpRequest(url, { method, headers: { ...HEADERS, ...headers }, agent: false });
  // A reset is seen by the reader of the response; here it only must not go unhandled.
  request.on('error', () => undefined);
  request.end(body === undefined ? undefined : JSON.stringify(body));
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  return response;
}

/** Sends a request and reads the response to its end, however that comes. */
export async function send(...request: Parameters<typeof open>): Promise<Arrival> {
  const response = await open(...request);
  const parts: Buffer[] = [];
  let broken: string | undefined;
  try {
    for await (const part of response as AsyncIterable<Buffer>) parts.push(part);
  } catch (error) {
    broken = (error as NodeJS.ErrnoException).code ?? 'unknown';
  }
  const text = Buffer.concat(parts).toString('utf8');
  const { statusCode: status = 0, headers } = response;
  return { status, headers, parts, text, json: objectOf(parseJson(text)), broken };
}

/** Waits until a condition holds; the time limit of the test is the limit of the wait. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await setTimeout(5);
}

/** The data of the server-sent events in a text that is JSON. */
export function eventsIn(text: string): JsonObject[] {
  const data = text.split(/\r?\n/).filter((line) => line.startsWith('data: '));
  return data.map((line) => objectOf(parseJson(line.slice(6))));
}

/** The content of a chat-completions stream. */
export function contentIn(text: string): string {
  const choices = eventsIn(text).flatMap((event) => objectsOf(event['choices']));
  return choices.map((choice) => stringOf(objectOf(choice['delta'])['content'])).join('');
}
