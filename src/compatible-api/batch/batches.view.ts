import {
  flag,
  integer,
  list,
  nullable,
  object,
  oneOf,
  optional,
  schema,
  text,
  View,
} from '../../platform/http/index.js';
import { secondsOf } from '../files/api-files.view.js';
import type { ApiBatch } from './api-batch.entity.js';

const SECONDS = { description: 'Seconds since the epoch' };
const TIME = { description: 'RFC 3339' };

class BatchErrorView extends View({
  code: text({ example: 'invalid_json_line' }),
  line: nullable(integer({ description: 'Of the file, from 1; null: the whole file' })),
  message: text({ example: 'The line is not valid JSON.' }),
  param: nullable(text({ example: 'custom_id' })),
}) {}

class BatchErrorsView extends View({
  object: oneOf(['list']),
  data: list(BatchErrorView),
}) {}

class BatchCountsView extends View({
  total: integer(),
  completed: integer(),
  failed: integer({ description: 'Those that were cancelled or have expired included' }),
}) {}

class BatchUsageView extends View({
  input_tokens: integer(),
  input_tokens_details: schema<{ readonly cached_tokens: number }>({
    type: 'object',
    properties: { cached_tokens: { type: 'integer' } },
    required: ['cached_tokens'],
  }),
  output_tokens: integer(),
  output_tokens_details: schema<{ readonly reasoning_tokens: number }>({
    type: 'object',
    properties: { reasoning_tokens: { type: 'integer' } },
    required: ['reasoning_tokens'],
  }),
  total_tokens: integer(),
}) {}

/** Batch of openai 7.57 (November 2026). Absent times have not been reached. */
export class BatchView extends View({
  id: text({ example: 'batch_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  object: oneOf(['batch']),
  endpoint: text({ example: '/v1/chat/completions' }),
  model: optional(text({ description: 'Absent: its requests name several, or none' })),
  errors: optional(object(BatchErrorsView)),
  input_file_id: text({ example: 'file-0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  completion_window: oneOf(['24h']),
  status: oneOf([
    ...['validating', 'failed', 'in_progress', 'finalizing', 'completed'],
    ...['expired', 'cancelling', 'cancelled'],
  ]),
  output_file_id: optional(text({ description: 'Answers. Absent: there are none' })),
  error_file_id: optional(text({ description: 'Failures. Absent: there are none' })),
  created_at: integer(SECONDS),
  in_progress_at: optional(integer(SECONDS)),
  expires_at: integer(SECONDS),
  finalizing_at: optional(integer(SECONDS)),
  completed_at: optional(integer(SECONDS)),
  failed_at: optional(integer(SECONDS)),
  expired_at: optional(integer(SECONDS)),
  cancelling_at: optional(integer(SECONDS)),
  cancelled_at: optional(integer(SECONDS)),
  request_counts: object(BatchCountsView),
  usage: optional(object(BatchUsageView, { description: 'Of a batch that has ended' })),
  metadata: nullable(
    schema<Readonly<Record<string, string>>>({
      type: 'object',
      additionalProperties: { type: 'string' },
    }),
  ),
}) {}

export class BatchesView extends View({
  object: oneOf(['list']),
  data: list(BatchView),
  first_id: nullable(text()),
  last_id: nullable(text()),
  has_more: flag(),
}) {}

class MessageBatchCountsView extends View({
  processing: integer(),
  succeeded: integer({ description: 'As the others, 0 until the batch has ended' }),
  errored: integer(),
  canceled: integer(),
  expired: integer(),
}) {}

/** MessageBatch of @anthropic-ai/sdk 1.12 (November 2026). */
export class MessageBatchView extends View({
  id: text({ example: 'msgbatch_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  type: oneOf(['message_batch']),
  processing_status: oneOf(['in_progress', 'canceling', 'ended']),
  request_counts: object(MessageBatchCountsView),
  created_at: text(TIME),
  expires_at: text(TIME),
  ended_at: nullable(text(TIME)),
  cancel_initiated_at: nullable(text(TIME)),
  archived_at: nullable(text({ description: 'null' })),
  results_url: nullable(text({ description: 'null until the batch has ended' })),
}) {}

export class MessageBatchesView extends View({
  data: list(MessageBatchView),
  has_more: flag({
    description: 'Whether more follow after last_id; with before_id, before first_id',
  }),
  first_id: nullable(text()),
  last_id: nullable(text()),
}) {}

export class DeletedMessageBatchView extends View({
  id: text({ example: 'msgbatch_0c1f2e3d4b5a69788796a5b4c3d2e1f0' }),
  type: oneOf(['message_batch_deleted']),
}) {}

export function batchView(batch: ApiBatch): BatchView {
  const { id, endpoint, modelName, errors, inputFile, status, outputFile, errorFile } = batch;
  const { createTime, beginTime, expireTime, finalizeTime, cancelTime, endTime } = batch;
  const { erroredCount, canceledCount, expiredCount, usage, metadata } = batch;
  const ended = { completed: 'completed_at', failed: 'failed_at', expired: 'expired_at' } as const;
  const endField = status === 'cancelled' ? 'cancelled_at' : ended[status as keyof typeof ended];
  return {
    id,
    object: 'batch',
    endpoint,
    ...(modelName !== null && { model: modelName }),
    ...(errors && { errors: { object: 'list', data: errors } }),
    input_file_id: inputFile ?? '',
    completion_window: '24h',
    status,
    ...(outputFile !== null && { output_file_id: outputFile }),
    ...(errorFile !== null && { error_file_id: errorFile }),
    created_at: secondsOf(createTime),
    expires_at: secondsOf(expireTime),
    ...(beginTime && { in_progress_at: secondsOf(beginTime) }),
    ...(finalizeTime && { finalizing_at: secondsOf(finalizeTime) }),
    ...(cancelTime && { cancelling_at: secondsOf(cancelTime) }),
    ...(endTime && { [endField]: secondsOf(endTime) }),
    request_counts: {
      total: batch.totalCount,
      completed: batch.succeededCount,
      failed: erroredCount + canceledCount + expiredCount,
    },
    ...(usage && {
      usage: {
        input_tokens: usage.input,
        input_tokens_details: { cached_tokens: usage.cached },
        output_tokens: usage.output,
        output_tokens_details: { reasoning_tokens: usage.reasoning },
        total_tokens: usage.input + usage.output,
      },
    }),
    metadata,
  };
}

/** @param base The address of the API, without a final slash. */
export function messageBatchView(batch: ApiBatch, base: string): MessageBatchView {
  const { id, status, totalCount, outputFile } = batch;
  const { createTime, expireTime, endTime, cancelTime } = batch;
  const hasEnded = endTime !== null;
  const running = status === 'cancelling' ? 'canceling' : 'in_progress';
  return {
    id,
    type: 'message_batch',
    processing_status: hasEnded ? 'ended' : running,
    request_counts: {
      processing: hasEnded ? 0 : totalCount,
      succeeded: hasEnded ? batch.succeededCount : 0,
      errored: hasEnded ? batch.erroredCount : 0,
      canceled: hasEnded ? batch.canceledCount : 0,
      expired: hasEnded ? batch.expiredCount : 0,
    },
    created_at: createTime.toISOString(),
    expires_at: expireTime.toISOString(),
    ended_at: endTime?.toISOString() ?? null,
    cancel_initiated_at: cancelTime?.toISOString() ?? null,
    archived_at: null,
    results_url: outputFile === null ? null : `${base}/v1/messages/batches/${id}/results`,
  };
}
