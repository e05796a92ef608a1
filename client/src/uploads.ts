import { reach, readJson } from './answer.js';
import type { AnswerHead } from './answer.js';
import { contentsOf } from './envelope.js';
import { ConnectionError } from './errors.js';
import type {
  AttachUploadResponse,
  StorageUploadResponse,
  TestSetImportResponse,
} from './generated/types.gen.js';
import { addCallerHeaders, addressOf } from './settings.js';

export interface UploadOptions {
  /** Bytes of the request that were sent, and how many there are. Called in browsers. */
  readonly onProgress?: (progress: { readonly sent: number; readonly total: number }) => void;
  readonly signal?: AbortSignal;
}

export interface DocumentUpload extends UploadOptions {
  readonly knowledgeId: number;
  readonly file: File | readonly File[];
  /** Parses the documents at once. */
  readonly autoParse?: boolean;
  /** Metadata of all files. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Adds documents to a knowledge base. Answers the outcome of each; where one was not stored, the outcomes are the `data` of
 * the ApiError.
 */
export async function uploadDocuments({
  knowledgeId,
  file,
  autoParse,
  metadata,
  ...options
}: DocumentUpload): Promise<AttachUploadResponse> {
  const form = new FormData();
  form.set('knowledgeId', String(knowledgeId));
  if (autoParse !== undefined) form.set('autoParse', String(autoParse));
  if (metadata) form.set('metadata', JSON.stringify(metadata));
  for (const one of [file].flat()) form.append('file', one, one.name);
  return (await send('/system/attach/upload', form, options)) as AttachUploadResponse;
}

/**
 * Adds or replaces queries of a test set. Both files of its layout go in one request, because the judgements name queries of the
 * other file.
 */
export async function importTestSet({
  knowledgeId,
  files,
  ...options
}: UploadOptions & {
  readonly knowledgeId: number;
  readonly files: readonly File[];
}): Promise<TestSetImportResponse> {
  const form = new FormData();
  for (const file of files) form.append('file', file, file.name);
  const path = `/system/info/${knowledgeId}/testset/import`;
  return (await send(path, form, options)) as TestSetImportResponse;
}

/** Stores a file, for a question of a chat by its `ossId`. */
export async function uploadFile({
  file,
  ...options
}: UploadOptions & { readonly file: File }): Promise<StorageUploadResponse> {
  const form = new FormData();
  form.set('file', file, file.name);
  return (await send('/resource/oss/upload', form, options)) as StorageUploadResponse;
}

/** XMLHttpRequest where there is one, because fetch tells nothing of what was sent. */
async function send(path: string, form: FormData, options: UploadOptions): Promise<unknown> {
  const headers = new Headers();
  addCallerHeaders(headers);
  const request: UploadRequest = { address: addressOf(path), headers, form };
  const { head, text } =
    'XMLHttpRequest' in globalThis
      ? await sendByXhr(request, options)
      : await sendByFetch(request, options);
  return contentsOf(readJson(head, text));
}

interface UploadRequest {
  readonly address: string;
  readonly headers: Headers;
  readonly form: FormData;
}
interface UploadAnswer {
  readonly head: AnswerHead;
  readonly text: string;
}

async function sendByFetch(
  { address, headers, form: body }: UploadRequest,
  { signal }: UploadOptions,
): Promise<UploadAnswer> {
  const init: RequestInit = { method: 'POST', headers, body, ...(signal && { signal }) };
  const response = await reach(() => fetch(address, init), signal);
  const text = await reach(() => response.text(), signal);
  return { head: { status: response.status, header: (name) => response.headers.get(name) }, text };
}

function sendByXhr(
  { address, headers, form }: UploadRequest,
  { signal, onProgress }: UploadOptions,
): Promise<UploadAnswer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const xhr = new XMLHttpRequest();
    const abort = (): void => xhr.abort();
    xhr.open('POST', address);
    headers.forEach((value, name) => xhr.setRequestHeader(name, value));
    xhr.upload.onprogress = ({ loaded: sent, total }) => onProgress?.({ sent, total });
    xhr.onload = () => {
      const head: AnswerHead = {
        status: xhr.status,
        header: (name) => xhr.getResponseHeader(name),
      };
      resolve({ head, text: xhr.responseText });
    };
    xhr.onerror = () => reject(new ConnectionError('The connection was lost during the upload.'));
    xhr.onabort = () => reject(signal?.reason as Error);
    xhr.onloadend = () => signal?.removeEventListener('abort', abort);
    signal?.addEventListener('abort', abort, { once: true });
    xhr.send(form);
  });
}
