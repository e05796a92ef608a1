import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { Caller } from '../../platform/access/index.js';
import { DomainError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import { quoted } from '../../agent/index.js';
import { DocumentReader } from '../../attach/index.js';
import type { ChatMessage, ContentPart } from '../../provider/index.js';
import { ParameterError } from './api.errors.js';
import type { FilePart, ReadCall, TranslatedCall, TranslatedMessage } from './api.request.js';
import { z } from 'zod';

/** Maximum files per request. */
const MAX_FILES = 20;
/** Maximum characters of all files of one request, about 500,000 tokens. */
const MAX_TEXT_CHARS = 2_000_000;
/** Cache size of texts for the next turn of a conversation, which sends its files again. */
const MAX_CACHED_CHARS = 8_000_000;
const CACHED_TEXT_MS = 10 * 60_000;

/**
 * Reads the files of translated requests: the model gets their texts, quoted as data. No protocol of models takes every kind of
 * file, and few services those that theirs has.
 */
@Injectable()
export class RequestFiles {
  /** Keyed by tenant and content, so that a sender learns nothing about files of others. */
  private readonly texts = new LRUCache<string, string>({
    maxSize: MAX_CACHED_CHARS,
    ttl: CACHED_TEXT_MS,
    sizeCalculation: ({ length }) => Math.max(1, length),
  });

  constructor(private readonly documents: DocumentReader) {}

  /** Throws ParameterError for a file that cannot be read, or for too many files. */
  async read(caller: Caller, call: TranslatedCall, signal: AbortSignal): Promise<ReadCall> {
    const files = call.messages.flatMap(filesOf);
    if (files.length === 0) return withTexts(call, new Map());
    const beyond = files[MAX_FILES];
    if (beyond) {
      throw new ParameterError(
        beyond.param,
        msg`The request has more than ${MAX_FILES} files. Send fewer.`,
      );
    }
    const texts = new Map<FilePart, string>();
    let length = 0;
    for (const file of files) {
      const text = await this.textOf(caller, file, signal);
      length += text.length;
      if (length > MAX_TEXT_CHARS) {
        throw new ParameterError(
          file.param,
          msg`The files of the request have more than ${MAX_TEXT_CHARS} characters of text. Send fewer or shorter ones.`,
        );
      }
      texts.set(file, text);
    }
    return withTexts(call, texts);
  }

  private async textOf(
    { tenantId }: Caller,
    { name, content, param }: FilePart,
    signal: AbortSignal,
  ): Promise<string> {
    const digest = createHash('sha256').update(content).digest('base64url');
    const key = `${tenantId} ${digest} ${name}`;
    const cachedText = this.texts.get(key);
    if (cachedText !== undefined) return cachedText;
    try {
      const text = await this.documents.textOf(content, name, signal);
      this.texts.set(key, text);
      return text;
    } catch (error) {
      if (signal.aborted || !(error instanceof DomainError)) throw error;
      throw new ParameterError(param, msg`The file ${name} cannot be read. ${error.userMessage}`);
    }
  }
}

/** The files of a message that need reading. */
export function filesOf({ role, content }: TranslatedMessage): FilePart[] {
  if (role !== 'user' || typeof content === 'string') return [];
  return content.filter((part) => part.type === 'file');
}

/** The call with its files as quoted texts. */
export function withTexts(call: TranslatedCall, texts: ReadonlyMap<FilePart, string>): ReadCall {
  const messages = call.messages.map((message): ChatMessage => {
    if (message.role !== 'user' || typeof message.content === 'string') {
      return message as ChatMessage;
    }
    const parts = message.content.map((part): ContentPart => {
      if (part.type !== 'file') return part;
      return { type: 'text', text: quoted('file', { name: part.name }, texts.get(part) ?? '') };
    });
    return { role: 'user', content: parts };
  });
  return { ...call, messages };
}

/** Same limit as for chat files. */
export const MAX_FILE_NAME_CHARS = 255;

const DATA = /^data:([\w.+-]+\/[\w.+-]+)(?:;[\w.+-]+=[^;,]*)*;base64,/i;

/** The content of a data URL. Some clients send bare base64. */
export const fileData = z
  .string()
  .min(1)
  .refine(
    (text) => DATA.test(text) || !text.slice(0, 20).includes(':'),
    'it must be a data address with base64, such as data:application/pdf;base64,…',
  );

/** Suffix of unnamed files by media type. Files without a type are PDFs in practice. */
const SUFFIXES: Readonly<Record<string, string>> = {
  'text/plain': 'txt',
  'text/markdown': 'md',
  'text/html': 'html',
  'text/csv': 'csv',
  'application/json': 'json',
  'application/x-ipynb+json': 'ipynb',
  'application/rtf': 'rtf',
  'text/rtf': 'rtf',
  'message/rfc822': 'eml',
  'application/epub+zip': 'epub',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-excel.sheet.binary.macroenabled.12': 'xlsb',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.ms-outlook': 'msg',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
};

/** A file of a request. `data` is a data URL or base64. */
export function filePartOf(
  data: string,
  name: string | null | undefined,
  param: string,
  mediaType?: string,
): FilePart {
  const [head = '', type = mediaType] = DATA.exec(data) ?? [];
  const content = Buffer.from(data.slice(head.length), 'base64');
  return { type: 'file', name: fileName(name, type), content, param };
}

function fileName(name: string | null | undefined, type = ''): string {
  const suffix = SUFFIXES[type.toLowerCase()] ?? 'pdf';
  const trimmedName = name?.trim() ?? '';
  if (trimmedName === '') return `document.${suffix}`;
  return /\.\w{1,10}$/.test(trimmedName) ? trimmedName : `${trimmedName}.${suffix}`;
}
