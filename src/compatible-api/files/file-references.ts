import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import { ParameterError } from '../answer/api.errors.js';
import { UnknownFileError } from './api-file.errors.js';
import { ApiFiles, isFileId } from './api-files.service.js';
import type { ApiFile } from './api-file.entity.js';

/** Maximum bytes of all files referenced by one request: as much as it could send inline. */
const MAX_BYTES = 8 * 2 ** 20;

type Json = Readonly<Record<string, unknown>>;

interface ReadFile {
  readonly file: ApiFile;
  readonly content: Buffer;
}

/**
 * Puts files of /v1/files in the place of their ids, before a request is read: no service behind a model knows them. A part is
 * written as the client would have sent it with the content. Ids of other forms stay, for services that are relayed to.
 */
@Injectable()
export class FileReferences {
  constructor(private readonly files: ApiFiles) {}

  /** `file` parts of chat completions. */
  inCompletion(caller: Caller, body: unknown): Promise<unknown> {
    return this.inBody(caller, body, 'messages', (part, read) => {
      const { file_id: id, ...others } = record(part['file']);
      if (part['type'] !== 'file' || !isFileId(id)) return undefined;
      return read(id, ({ file, content }) => ({
        ...part,
        file: { filename: file.fileName, ...others, file_data: dataOf(file, content) },
      }));
    });
  }

  /** `input_file` and `input_image` parts of responses. */
  inResponse(caller: Caller, body: unknown): Promise<unknown> {
    return this.inBody(caller, body, 'input', (part, read) => {
      const { file_id: id, ...others } = part;
      if (!isFileId(id)) return undefined;
      if (part['type'] === 'input_image') {
        return read(id, ({ file, content }) => ({
          ...others,
          image_url: dataOf(file, content),
        }));
      }
      if (part['type'] !== 'input_file') return undefined;
      return read(id, ({ file, content }) => ({
        filename: file.fileName,
        ...others,
        file_data: dataOf(file, content),
      }));
    });
  }

  /** `document` and `image` blocks of messages whose source is of type file. */
  inMessages(caller: Caller, body: unknown): Promise<unknown> {
    return this.inBody(caller, body, 'messages', (part, read) => {
      const { type, file_id: id } = record(part['source']);
      if (type !== 'file' || !isFileId(id)) return undefined;
      return read(id, ({ file, content }) => {
        const isPlain = file.mimeType === 'text/plain';
        const media_type = file.mimeType;
        const source = isPlain
          ? { type: 'text', media_type, data: content.toString('utf8') }
          : { type: 'base64', media_type, data: content.toString('base64') };
        return { ...(part['type'] === 'document' && { title: file.fileName }), ...part, source };
      });
    });
  }

  /** The body with file references replaced by content. Returns the same object if there are none. */
  private async inBody(
    caller: Caller,
    body: unknown,
    field: 'messages' | 'input',
    replace: (
      part: Json,
      read: (id: string, make: (read: ReadFile) => Json) => Promise<Json>,
    ) => Promise<Json> | undefined,
  ): Promise<unknown> {
    const messages = record(body)[field];
    // Few requests reference files, so this cheap check comes first.
    if (!Array.isArray(messages) || !messages.some((one) => hasParts(record(one)))) return body;
    let bytes = 0;
    const read = async (id: string, make: (read: ReadFile) => Json): Promise<Json> => {
      const file = await this.files.get(caller, id).catch((error: unknown) => {
        throw error instanceof UnknownFileError
          ? new ParameterError(field, error.userMessage)
          : error;
      });
      bytes += file.byteSize;
      if (bytes > MAX_BYTES) {
        throw new ParameterError(
          field,
          msg`The files of the request have more than ${MAX_BYTES / 2 ** 20} MiB together. Send fewer or shorter ones.`,
        );
      }
      return make({ file, content: await this.files.read(file) });
    };
    const replaced: unknown[] = [];
    for (const message of messages as readonly unknown[]) {
      const { content } = record(message);
      if (!Array.isArray(content)) {
        replaced.push(message);
        continue;
      }
      const parts: unknown[] = [];
      for (const part of content as readonly unknown[]) {
        parts.push((await replace(record(part), read)) ?? part);
      }
      replaced.push({ ...record(message), content: parts });
    }
    return { ...record(body), [field]: replaced };
  }
}

function hasParts({ content }: Json): boolean {
  if (!Array.isArray(content)) return false;
  return (content as readonly unknown[]).some((part) => {
    const { file_id: fileId, file, source } = record(part);
    return [fileId, record(file)['file_id'], record(source)['file_id']].some(isFileId);
  });
}

function record(value: unknown): Json {
  return typeof value === 'object' && value !== null ? (value as Json) : {};
}

function dataOf({ mimeType }: ApiFile, content: Buffer): string {
  return `data:${mimeType};base64,${content.toString('base64')}`;
}
