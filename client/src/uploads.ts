import { headOf, reach, readJson } from './answer.js';
import type { AnswerHead } from './answer.js';
import { contentsOf } from './envelope.js';
import { ConnectionError } from './errors.js';
import type {
  AttachUploadResponse,
  StorageUploadResponse,
  TestSetImportResponse,
} from './generated/types.gen.js';
import type { Connection } from './settings.js';

export interface UploadOptions {
  /** Reports the bytes sent and the total size of the request. Called only in browsers. */
  readonly onProgress?: (progress: { readonly sent: number; readonly total: number }) => void;
  readonly signal?: AbortSignal;
}

export interface DocumentUpload extends UploadOptions {
  readonly knowledgeId: number;
  readonly file: File | readonly File[];
  /** Whether to parse the documents immediately. */
  readonly autoParse?: boolean;
  /** Metadata for every uploaded file. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface TestSetImport extends UploadOptions {
  readonly knowledgeId: number;
  readonly files: readonly File[];
}

export interface FileUpload extends UploadOptions {
  readonly file: File;
}

export interface Uploads {
  /**
   * Adds documents to a knowledge base and returns the outcome of each. If one was not stored, the outcomes are the `data` of
   * the ApiError.
   */
  uploadDocuments(upload: DocumentUpload): Promise<AttachUploadResponse>;
  /**
   * Adds or replaces queries of a test set. Both files of its layout go in one request, because the judgements name queries of
   * the other file.
   */
  importTestSet(upload: TestSetImport): Promise<TestSetImportResponse>;
  /** Stores a file that a chat question references by its `ossId`. */
  uploadFile(upload: FileUpload): Promise<StorageUploadResponse>;
}

export function uploadsOf(connection: Connection): Uploads {
  return {
    async uploadDocuments({ knowledgeId, file, autoParse, metadata, ...options }) {
      const form = new FormData();
      form.set('knowledgeId', String(knowledgeId));
      if (autoParse !== undefined) form.set('autoParse', String(autoParse));
      if (metadata) form.set('metadata', JSON.stringify(metadata));
      for (const one of [file].flat()) form.append('file', one, one.name);
      const request = requestOf(connection, '/system/attach/upload', form);
      return (await send(request, options)) as AttachUploadResponse;
    },
    async importTestSet({ knowledgeId, files, ...options }) {
      const form = new FormData();
      for (const file of files) form.append('file', file, file.name);
      const request = requestOf(connection, `/system/info/${knowledgeId}/testset/import`, form);
      return (await send(request, options)) as TestSetImportResponse;
    },
    async uploadFile({ file, ...options }) {
      const form = new FormData();
      form.set('file', file, file.name);
      const request = requestOf(connection, '/resource/oss/upload', form);
      return (await send(request, options)) as StorageUploadResponse;
    },
  };
}

interface UploadRequest {
  readonly connection: Connection;
  readonly address: string;
  readonly headers: Headers;
  readonly form: FormData;
}

function requestOf(connection: Connection, path: string, form: FormData): UploadRequest {
  const headers = new Headers();
  connection.addCallerHeaders(headers);
  return { connection, address: connection.addressOf(path), headers, form };
}

/** Sends with XMLHttpRequest in browsers, because fetch does not report upload progress. */
async function send(request: UploadRequest, options: UploadOptions): Promise<unknown> {
  const { head, text } =
    'XMLHttpRequest' in globalThis
      ? await sendByXhr(request, options)
      : await sendByFetch(request, options);
  return contentsOf(readJson(head, text));
}

interface UploadAnswer {
  readonly head: AnswerHead;
  readonly text: string;
}

async function sendByFetch(
  { connection, address, headers, form: body }: UploadRequest,
  { signal }: UploadOptions,
): Promise<UploadAnswer> {
  const init: RequestInit = { method: 'POST', headers, body, ...(signal && { signal }) };
  const response = await reach(() => fetch(address, init), signal);
  const text = await reach(() => response.text(), signal);
  return { head: headOf(response, connection), text };
}

function sendByXhr(
  { connection, address, headers, form }: UploadRequest,
  { signal, onProgress }: UploadOptions,
): Promise<UploadAnswer> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const xhr = new XMLHttpRequest();
    const abort = (): void => xhr.abort();
    xhr.open('POST', address);
    headers.forEach((value, name) => xhr.setRequestHeader(name, value));
    xhr.upload.onprogress = ({ loaded: sentBytes, total }) =>
      onProgress?.({ sent: sentBytes, total });
    xhr.onload = () => {
      const head: AnswerHead = {
        status: xhr.status,
        header: (name) => xhr.getResponseHeader(name),
        connection,
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
