import { z } from 'zod';
import { localized, checkShape } from '../../platform/http/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { BatchProblem } from './api-batch.entity.js';
import type { NewLine } from './api-batch.repository.js';

// The file of a batch as OpenAI describes it: one JSON object a line
// (platform.openai.com/docs/api-reference/batch/request-input, November 2026).

/** Maximum lines, as at OpenAI. */
export const MAX_LINES = 50_000;
/** Bytes of one line; the largest body of a single request. */
const MAX_LINE_BYTES = 14 * 2 ** 20;
const MAX_CUSTOM_ID_CHARS = 512;
/** Maximum problems reported. */
const MAX_PROBLEMS = 100;

/** Endpoints that an OpenAI batch may use. */
export const ENDPOINTS = [
  ...(['/v1/chat/completions', '/v1/responses', '/v1/embeddings'] as const),
  ...(['/v1/completions', '/v1/moderations'] as const),
] as const;
export type BatchEndpoint = (typeof ENDPOINTS)[number];

const lineFields = z.looseObject({
  custom_id: z
    .string()
    .min(1)
    .max(MAX_CUSTOM_ID_CHARS)
    .refine((id) => !id.includes('\0') && id.isWellFormed()),
  method: z.string(),
  url: z.string(),
  body: z.looseObject({}),
});

interface Problem {
  readonly code: string;
  readonly message: Message;
  readonly param: string | null;
}

/** Validates an input file line by line, and collects what its requests have in common. */
export class BatchInput {
  private readonly ids = new Set<string>();
  private readonly lineProblems: BatchProblem[] = [];
  private readonly models = new Set<unknown>();
  private lines = 0;
  private requests = 0;

  constructor(private readonly endpoint: string) {}

  /** Reads a line; undefined for an invalid or empty one. */
  read(text: string): NewLine | undefined {
    this.lines += 1;
    if (text.trim() === '') return undefined;
    this.requests += 1;
    if (this.requests > MAX_LINES) return undefined;
    const read = this.problemOrRequest(text);
    if ('request' in read) return read;
    this.add(read, this.lines);
    return undefined;
  }

  /** Records a line that exceeds the maximum length. */
  refuseLength(): void {
    this.lines += 1;
    this.requests += 1;
    const message = msg`The line has more than ${MAX_LINE_BYTES / 2 ** 20} MiB. Send a shorter request.`;
    this.add({ code: 'line_too_long', message, param: null }, this.lines);
  }

  /** Problems of the whole file. Call it after the last line. */
  problems(): readonly BatchProblem[] {
    if (this.requests === 0) {
      return [
        problemOf({ code: 'empty_file', message: msg`The file has no requests.`, param: null }),
      ];
    }
    if (this.requests > MAX_LINES) {
      const message = msg`The file has more than ${MAX_LINES} requests. Make several batches.`;
      return [problemOf({ code: 'too_many_tasks', message, param: null }), ...this.lineProblems];
    }
    return this.lineProblems;
  }

  /** Null if the requests name several models, or none. */
  get modelName(): string | null {
    const [first, ...others] = this.models;
    return others.length === 0 && typeof first === 'string' ? first.slice(0, 200) : null;
  }

  private problemOrRequest(text: string): NewLine | Problem {
    let line: unknown;
    try {
      line = JSON.parse(text);
    } catch {
      const message = msg`The line is not valid JSON.`;
      return { code: 'invalid_json_line', message, param: null };
    }
    const { data, error } = lineFields.safeParse(line);
    if (!data) return missing(line, String(error.issues[0]?.path[0] ?? ''));
    const { custom_id: customId, method, url, body } = data;
    if (this.ids.has(customId)) {
      const message = msg`The custom_id ${customId.slice(0, 64)} is that of another line. It must be unique in the batch.`;
      return { code: 'duplicate_custom_id', message, param: 'custom_id' };
    }
    this.ids.add(customId);
    if (method !== 'POST') {
      const message = msg`The method must be POST.`;
      return { code: 'invalid_method', message, param: 'method' };
    }
    if (url !== this.endpoint) {
      const message = msg`The url must be the endpoint of the batch, which is ${this.endpoint}.`;
      return { code: 'url_mismatch', message, param: 'url' };
    }
    return (
      this.bodyProblem(body) ?? {
        position: this.requests - 1,
        customId,
        request: JSON.stringify(body),
      }
    );
  }

  private bodyProblem(body: Readonly<Record<string, unknown>>): Problem | undefined {
    if (body['stream'] === true) {
      const message = msg`Answers of a batch are not streamed. Leave stream out.`;
      return { code: 'invalid_parameter', message, param: 'body.stream' };
    }
    const { model } = body;
    if (typeof model !== 'string' && this.endpoint !== '/v1/moderations') {
      const message = msg`The parameter ${'body.model'} is required.`;
      return { code: 'missing_required_parameter', message, param: 'body.model' };
    }
    this.models.add(model);
    try {
      checkShape(body);
    } catch (error) {
      if (!(error instanceof InvalidInputError)) throw error;
      return { code: 'invalid_body', message: error.userMessage, param: 'body' };
    }
    return undefined;
  }

  private add(problem: Problem, line: number): void {
    if (this.lineProblems.length < MAX_PROBLEMS) this.lineProblems.push(problemOf(problem, line));
  }
}

/** A field that is absent or of another type. */
function missing(line: unknown, field: string): Problem {
  if (field === '') {
    return {
      code: 'invalid_json_line',
      param: null,
      message: msg`The line is not a JSON object.`,
    };
  }
  const isThere = (line as Readonly<Record<string, unknown>>)[field] !== undefined;
  return {
    code: isThere ? `invalid_${field}` : 'missing_required_parameter',
    message: isThere
      ? msg`The parameter ${field} is not valid. Correct it.`
      : msg`The parameter ${field} is required.`,
    param: field,
  };
}

function problemOf({ code, message, param }: Problem, line: number | null = null): BatchProblem {
  return { code, line, message: localized(message), param };
}

/** The lines of a file without line endings; undefined for a line that exceeds the maximum length. */
export async function* linesOf(
  content: AsyncIterable<Buffer>,
): AsyncGenerator<string | undefined, void> {
  let pieces: Buffer[] = [];
  let length = 0;
  const take = (): string | undefined => {
    const text = length > MAX_LINE_BYTES ? undefined : Buffer.concat(pieces).toString('utf8');
    pieces = [];
    length = 0;
    return text;
  };
  const add = (piece: Buffer): void => {
    length += piece.length;
    if (length <= MAX_LINE_BYTES) pieces.push(piece);
    else pieces = [];
  };
  let isFirst = true;
  for await (const chunk of content) {
    let from = 0;
    for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
      add(chunk.subarray(from, end));
      const text = take();
      // A byte order mark is not part of the first line.
      yield isFirst ? text?.replace(/^\uFEFF/, '') : text;
      isFirst = false;
      from = end + 1;
    }
    if (from < chunk.length) add(chunk.subarray(from));
  }
  if (length > 0) yield isFirst ? take()?.replace(/^\uFEFF/, '') : take();
}
