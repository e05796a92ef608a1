import { fileNameOf, headOf, isJson, reach, readJson, unreadable } from './answer.js';
import type { AnswerHead } from './answer.js';
import { contentsOf } from './envelope.js';
import type { Config } from './generated/client/index.js';
import type { Connection } from './settings.js';

/** Configuration of the generated client for one instance. */
export function clientConfig(connection: Connection): Config {
  return {
    baseUrl: connection.baseUrl,
    throwOnError: true,
    fetch: (input, init) => fetchChecked(connection, new Request(input, init)),
    responseTransformer: async (body: unknown) => contentsOf(body),
  };
}

/** Configuration of the generated default client, which is disabled: each instance has its own client. */
export function createClientConfig<GeneratedConfig extends Config>(
  config: GeneratedConfig,
): GeneratedConfig {
  return {
    ...config,
    fetch: () => Promise.reject(new Error('Call the functions of createPlinth().')),
  };
}

/** Fetches with the caller's headers. Throws ApiError or ConnectionError instead of returning a failed response. */
async function fetchChecked(connection: Connection, request: Request): Promise<Response> {
  connection.addCallerHeaders(request.headers);
  const { signal } = request;
  const response = await reach(() => fetch(request), signal);
  const head = headOf(response, connection);
  const isFile = (head.header('Content-Disposition') ?? '').startsWith('attachment');
  if (isJson(head) && !(isFile && response.ok)) {
    const text = await reach(() => response.text(), signal);
    readJson(head, text);
    return new Response(text, { headers: { 'Content-Type': 'application/json' } });
  }
  const type = head.header('Content-Type') ?? '';
  if (!response.ok || (type.startsWith('text/html') && !isFile)) throw unreadable(head);
  return type.startsWith('text/') && !isFile
    ? new Response(await reach(() => response.text(), signal), {
        headers: { 'Content-Type': type },
      })
    : fileAnswer(response, head, signal);
}

/** A response whose Blob is a File with the name that the server sent. */
async function fileAnswer(
  response: Response,
  head: AnswerHead,
  signal: AbortSignal,
): Promise<Response> {
  const bytes = await reach(() => response.blob(), signal);
  const type = head.header('Content-Type') ?? '';
  const file = new File([bytes], fileNameOf(head) ?? 'download', { type });
  const answer = new Response(null, { headers: { 'Content-Type': 'application/octet-stream' } });
  return Object.assign(answer, { blob: async () => file });
}
