import { fileNameOf, headOf, isJson, reach, readJson, unreadable } from './answer.js';
import { contentsOf } from './envelope.js';
import type { Config } from './generated/client/index.js';
import { addCallerHeaders } from './settings.js';

/** The configuration with which the generated client begins. */
export function createClientConfig<Given extends Config>(given: Given): Given {
  return {
    ...given,
    fetch: fetchChecked,
    responseTransformer: async (body: unknown) => contentsOf(body),
  };
}

/** As fetch, with the headers of the caller; throws ApiError and ConnectionError in place of answering a failure. */
const fetchChecked: typeof fetch = async (input, init) => {
  const request = new Request(input, init);
  addCallerHeaders(request.headers);
  const { signal } = request;
  const response = await reach(() => fetch(request), signal);
  const head = headOf(response);
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
    : fileAnswer(response, type, signal);
};

/** An answer that the generated client reads as a Blob: a File with the name that the server gives. */
async function fileAnswer(
  response: Response,
  type: string,
  signal: AbortSignal,
): Promise<Response> {
  const bytes = await reach(() => response.blob(), signal);
  const file = new File([bytes], fileNameOf(headOf(response)) ?? 'download', { type });
  const answer = new Response(null, { headers: { 'Content-Type': 'application/octet-stream' } });
  return Object.assign(answer, { blob: async () => file });
}
