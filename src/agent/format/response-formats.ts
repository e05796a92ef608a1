import { fileURLToPath } from 'node:url';
import { Injectable, Logger } from '@nestjs/common';
import type { OnApplicationShutdown } from '@nestjs/common';
import { Piscina } from 'piscina';
import type { Caller } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import type { ResponseFormat } from '../../provider/index.js';
import {
  InvalidResponseFormatError,
  InvalidSchemaError,
  SchemaTooSlowError,
} from './format.errors.js';
import { FairQueue } from './fair-queue.js';
import { MAX_SCHEMA_CHARS, TOO_SLOW } from './schema-walk.js';
import type { Problem } from './schema-walk.js';
import type { AnswerTask, CheckedAnswer, SchemaTask } from './schema.worker.js';

/** Description of the fields of requests. */
export const RESPONSE_FORMAT =
  '{type: "json_schema", name, schema}: a JSON Schema of an object; name is optional. docs/API.md says what is supported';
export const RESPONSE_FORMAT_EXAMPLE = {
  type: 'json_schema',
  name: 'answer',
  schema: {
    type: 'object',
    properties: { title: { type: 'string' }, price: { type: 'number' } },
    required: ['title', 'price'],
    additionalProperties: false,
  },
};

const WORKER = fileURLToPath(new URL('./schema.worker.js', import.meta.url));
/** Idle time after which a thread ends. */
const IDLE_MS = 60_000;
const THREADS = 2;
const THREAD_MEGABYTES = 128;
/** Limit of one check, from its start on the thread. Most take milliseconds. */
const LIMIT_MS = 5_000;

const NAME = /^[\w-]{1,64}$/;
const DEFAULT_NAME = 'answer';

/**
 * Reads response formats of requests and checks answers against them, on threads with limits of time and memory, because
 * users write the schemas. Checks of one user that take long do not hold those of others.
 */
@Injectable()
export class ResponseFormats implements OnApplicationShutdown {
  private readonly logger = new Logger(ResponseFormats.name);
  private readonly stopping = new AbortController();
  private readonly queue = new FairQueue(THREADS);
  private threads: Piscina | undefined;

  async onApplicationShutdown(): Promise<void> {
    this.stopping.abort();
    await this.threads?.destroy();
  }

  /** Null for the type `text`, which asks for no format. Throws InvalidResponseFormatError. */
  async read(
    caller: Caller,
    requestedFormat: Readonly<Record<string, unknown>>,
  ): Promise<ResponseFormat | null> {
    const format = this.unchecked(requestedFormat);
    if (!format) return null;
    const task: SchemaTask = { schema: JSON.stringify(format.schema), limitMs: LIMIT_MS };
    const problems = (await this.run(caller, 'checkSchema', task)) as readonly Problem[];
    if (problems.length > 0) throw new InvalidSchemaError(problems);
    return format;
  }

  /** Reads a response format without checking its schema. */
  unchecked(format: Readonly<Record<string, unknown>>): ResponseFormat | null {
    const { type, name = DEFAULT_NAME, schema } = format;
    if (type === 'text') return null;
    if (type !== 'json_schema') {
      throw new InvalidResponseFormatError(
        (names) => msg`${names.type} must be json_schema or text`,
      );
    }
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw new InvalidResponseFormatError(
        (names) => msg`${names.name} must be 1 to 64 letters, digits, _ or -`,
      );
    }
    if (typeof schema !== 'object' || schema === null || Array.isArray(schema)) {
      throw new InvalidResponseFormatError(
        (names) => msg`${names.schema} must be a JSON Schema object`,
      );
    }
    const text = JSON.stringify(schema);
    if (text.length > MAX_SCHEMA_CHARS) {
      throw new InvalidResponseFormatError(
        (names) =>
          msg`${names.schema} has ${text.length} characters, and at most ${MAX_SCHEMA_CHARS} are allowed`,
      );
    }
    return { type, name, schema: schema as ResponseFormat['schema'] };
  }

  /** Checks the text of an answer to the caller. Throws SchemaTooSlowError, and the reason of the signal while it waits. */
  async check(
    caller: Caller,
    { schema }: ResponseFormat,
    text: string,
    signal: AbortSignal,
  ): Promise<CheckedAnswer> {
    const task: AnswerTask = { schema: JSON.stringify(schema), text, limitMs: LIMIT_MS };
    return (await this.run(caller, 'checkAnswer', task, signal)) as CheckedAnswer;
  }

  private async run(
    { tenantId, userId }: Caller,
    name: string,
    task: SchemaTask,
    waiting: AbortSignal = this.stopping.signal,
  ): Promise<unknown> {
    const { signal } = this.stopping;
    try {
      const result = await this.queue.run(
        `${tenantId}/${userId}`,
        async () => (await (this.threads ??= this.start()).run(task, { name, signal })) as unknown,
        AbortSignal.any([waiting, signal]),
      );
      if (result === TOO_SLOW) throw new SchemaTooSlowError();
      return result;
    } catch (error) {
      if (isOutOfMemory(error)) throw new SchemaTooSlowError();
      throw error;
    }
  }

  private start(): Piscina {
    const threads = new Piscina({
      filename: WORKER,
      minThreads: 0,
      maxThreads: THREADS,
      idleTimeout: IDLE_MS,
      resourceLimits: { maxOldGenerationSizeMb: THREAD_MEGABYTES },
    });
    // A failure between tasks; during a task the task is rejected.
    return threads.on('error', (error: unknown) => {
      this.logger.error({ msg: 'Schema thread failed', err: error });
    });
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
}
