import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { msg } from '../../platform/message/index.js';
import type { OpenedFile } from '../../platform/storage/index.js';
import { ParameterError, UnsupportedParameterError } from '../answer/api.errors.js';
import { newId } from '../answer/encoded-state.js';
import { parameters, plainText } from '../answer/parameters.js';
import { UnknownFileError } from '../files/api-file.errors.js';
import { ApiFiles, expiresAfter } from '../files/api-files.service.js';
import type { ApiBatch, BatchProtocol } from './api-batch.entity.js';
import {
  EndedBatchError,
  NoResultsError,
  OpenBatchError,
  TooManyBatchesError,
  UnknownBatchError,
} from './api-batch.errors.js';
import { ApiBatchRepository } from './api-batch.repository.js';
import type { BatchPage } from './api-batch.repository.js';
import { ENDPOINTS } from './batch-input.js';
import { BatchWorker } from './batch.worker.js';
import { MESSAGES_ENDPOINT } from './line-answers.js';

const DAY_SECONDS = 86_400;
/** Maximum open batches per user. */
const MAX_OPEN_BATCHES = 100;
const LINES_AT_ONCE = 200;

/** Metadata of OpenAI: at most 16 texts. */
const metadata = z
  .record(z.string().max(64), z.string().max(512))
  .refine((one) => Object.keys(one).length <= 16, 'it must have at most 16 entries')
  .nullish();

const batchRequest = z.looseObject({
  input_file_id: plainText(100),
  endpoint: plainText(100),
  completion_window: z.literal('24h'),
  metadata,
  output_expires_after: expiresAfter.optional(),
});

const messageBatchRequest = z.looseObject({
  requests: z
    .array(
      z.looseObject({
        custom_id: z
          .string()
          .regex(/^[\w-]{1,64}$/, 'it must have 1 to 64 letters, digits, hyphens and underscores'),
        params: z.looseObject({ stream: z.boolean().nullish() }),
      }),
    )
    .min(1),
});

/** The headers of a request that say how its messages are read. */
const STORED_HEADERS = ['anthropic-version', 'anthropic-beta'] as const;

const ID = /^(batch|msgbatch)_[\da-f]{32}$/;

/** Ids of the first and last batch of the previous page. */
export interface AskedPage {
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly limit: number;
}

/** /v1/batches and /v1/messages/batches: one list of batches, each its user's alone, in the forms of two protocols. */
@Injectable()
export class Batches {
  constructor(
    private readonly repository: ApiBatchRepository,
    private readonly files: ApiFiles,
    private readonly worker: BatchWorker,
    private readonly database: Database,
  ) {}

  /** Creates a batch whose file is read later. Throws ParameterError. */
  async create(caller: Caller, body: unknown): Promise<ApiBatch> {
    const request = parameters(batchRequest, body);
    const { input_file_id: fileId, endpoint, output_expires_after: expires } = request;
    if (!ENDPOINTS.some((one) => one === endpoint)) {
      throw new ParameterError(
        'endpoint',
        msg`Batches of the endpoint ${endpoint.slice(0, 100)} are not supported. Send one of ${ENDPOINTS.join(', ')}.`,
      );
    }
    const file = await this.files.get(caller, fileId).catch((error: unknown) => {
      if (!(error instanceof UnknownFileError)) throw error;
      throw new ParameterError('input_file_id', error.userMessage);
    });
    if (file.purpose !== 'batch') {
      throw new ParameterError(
        'input_file_id',
        msg`The file ${fileId} is of the purpose ${file.purpose}. Upload it with the purpose batch.`,
      );
    }
    await this.requirePlace(caller);
    const id = newId('batch');
    await this.repository.insert(caller, {
      id,
      protocol: 'openai',
      endpoint,
      headers: {},
      status: 'validating',
      metadata: request.metadata ?? null,
      inputFile: fileId,
      outputSeconds: expires ? Math.round(expires.seconds) : null,
      windowSeconds: DAY_SECONDS,
    });
    this.worker.wake();
    return this.get(caller, 'openai', id);
  }

  /** Creates a batch from the requests of the body. Throws ParameterError; errors of single requests become their results. */
  async createOfMessages(
    caller: Caller,
    body: unknown,
    headers: Readonly<Record<string, string | string[] | undefined>>,
  ): Promise<ApiBatch> {
    const { requests } = parameters(messageBatchRequest, body);
    const ids = new Set<string>();
    for (const [at, { custom_id: customId, params }] of requests.entries()) {
      if (ids.has(customId)) {
        throw new ParameterError(
          `requests[${at}].custom_id`,
          msg`The custom_id ${customId} is that of another request. It must be unique in the batch.`,
        );
      }
      ids.add(customId);
      if (params.stream === true) {
        throw new UnsupportedParameterError(`requests[${at}].params.stream`);
      }
    }
    await this.requirePlace(caller);
    const storedHeaders = STORED_HEADERS.flatMap((name) => {
      const value = headers[name];
      return value === undefined ? [] : [[name, String(value)]];
    });
    const id = newId('msgbatch');
    const { tenantId } = caller;
    await this.database.transaction(async () => {
      const number = await this.repository.insert(caller, {
        id,
        protocol: 'messages',
        endpoint: MESSAGES_ENDPOINT,
        status: 'in_progress',
        headers: Object.fromEntries(storedHeaders) as Record<string, string>,
        metadata: null,
        inputFile: null,
        outputSeconds: null,
        windowSeconds: DAY_SECONDS,
      });
      for (let from = 0; from < requests.length; from += LINES_AT_ONCE) {
        const lines = requests.slice(from, from + LINES_AT_ONCE).map((one, at) => ({
          position: from + at,
          customId: one.custom_id,
          request: JSON.stringify(one.params),
        }));
        await this.repository.addLines({ tenantId, number }, lines);
      }
    });
    this.worker.wake();
    return this.get(caller, 'messages', id);
  }

  /** Throws UnknownBatchError. */
  async get(caller: Caller, protocol: BatchProtocol, id: string): Promise<ApiBatch> {
    const batch = ID.test(id) ? await this.repository.find(caller, protocol, id) : null;
    if (!batch) throw new UnknownBatchError(id.slice(0, 100));
    return batch;
  }

  /** A page, newest first, and whether more follow in its direction. */
  async page(
    caller: Caller,
    protocol: BatchProtocol,
    { after, before, limit }: AskedPage,
    names: { readonly after: string; readonly before: string },
  ): Promise<{ readonly batches: readonly ApiBatch[]; readonly hasMore: boolean }> {
    const pageQuery: BatchPage = {
      limit: limit + 1,
      after: after && (await this.numberOf(caller, protocol, after, names.after)),
      before: before && (await this.numberOf(caller, protocol, before, names.before)),
    } as BatchPage;
    const rows = await this.repository.page(caller, protocol, pageQuery);
    const hasMore = rows.length > limit;
    // The extra row is at the far end of the page.
    const batches = before && hasMore ? rows.slice(1) : rows.slice(0, limit);
    return { batches, hasMore };
  }

  /** Cancels the batch; lines that have begun are still answered. Throws EndedBatchError. A batch that is being cancelled is returned unchanged. */
  async cancel(caller: Caller, protocol: BatchProtocol, id: string): Promise<ApiBatch> {
    const batch = await this.get(caller, protocol, id);
    await this.repository.cancel(batch);
    this.worker.wake();
    const now = await this.get(caller, protocol, id);
    if (now.cancelTime === null) throw new EndedBatchError(id);
    return now;
  }

  /** Deletes a batch that has ended, with its results. Throws OpenBatchError. */
  async remove(caller: Caller, protocol: BatchProtocol, id: string): Promise<void> {
    const batch = await this.get(caller, protocol, id);
    if (batch.endTime === null) throw new OpenBatchError(id);
    if (batch.outputFile !== null) {
      await this.files.remove(caller, batch.outputFile).catch((error: unknown) => {
        if (!(error instanceof UnknownFileError)) throw error;
      });
    }
    await this.repository.remove(batch);
  }

  /** The file of results of a batch of messages. Throws NoResultsError. */
  async results(caller: Caller, id: string): Promise<OpenedFile> {
    const { outputFile } = await this.get(caller, 'messages', id);
    if (outputFile === null) throw new NoResultsError(id);
    return this.files.open(caller, outputFile).catch((error: unknown) => {
      throw error instanceof UnknownFileError ? new NoResultsError(id) : error;
    });
  }

  private async numberOf(
    caller: Caller,
    protocol: BatchProtocol,
    id: string,
    param: string,
  ): Promise<number> {
    const batch = ID.test(id) ? await this.repository.find(caller, protocol, id) : null;
    if (batch) return batch.number;
    throw new ParameterError(
      param,
      msg`The parameter ${param} names no batch of the list. Begin again with the first page.`,
    );
  }

  private async requirePlace(caller: Caller): Promise<void> {
    const open = await this.repository.countOpen(caller);
    if (open >= MAX_OPEN_BATCHES) throw new TooManyBatchesError(MAX_OPEN_BATCHES);
  }
}
