import { newId } from '../answer/encoded-state.js';
import type { BatchUsage, ApiBatch } from './api-batch.entity.js';
import type { EndedLine } from './api-batch.repository.js';

// The files in which clients read the answers of a batch: BatchRequestOutput of the reference of OpenAI, and
// MessageBatchIndividualResponse of @anthropic-ai/sdk 1.12 (November 2026).

/** Why requests of a batch were not sent, in the words of OpenAI. */
const NOT_SENT = {
  expired: {
    code: 'batch_expired',
    message: 'This request could not be executed before the completion window expired.',
  },
  canceled: {
    code: 'batch_cancelled',
    message: 'This request was not executed, because the batch was cancelled.',
  },
} as const;

/** One line of a file, with its end. */
export function resultLine({ protocol }: Pick<ApiBatch, 'protocol'>, line: EndedLine): string {
  return protocol === 'messages' ? messagesLine(line) : openAiLine(line);
}

function openAiLine({ customId, status, statusCode, requestId, response }: EndedLine): string {
  const id = newId('batch_req');
  const head = `{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)}`;
  if (status === 'expired' || status === 'canceled') {
    return `${head},"response":null,"error":${JSON.stringify(NOT_SENT[status])}}\n`;
  }
  const answer = `{"status_code":${statusCode ?? 500},"request_id":${JSON.stringify(requestId)},"body":${inLine(response)}}`;
  return `${head},"response":${answer},"error":null}\n`;
}

function messagesLine({ customId, status, response }: EndedLine): string {
  const fields =
    status === 'succeeded'
      ? `,"message":${inLine(response)}`
      : status === 'errored'
        ? `,"error":${inLine(response)}`
        : '';
  return `{"custom_id":${JSON.stringify(customId)},"result":{"type":"${status}"${fields}}}\n`;
}

/** JSON on one line; line separators in texts are escaped. */
function inLine(json: string | null): string {
  return (json ?? 'null').replace(/[\r\n]+/g, ' ');
}

export const NO_USAGE: BatchUsage = { input: 0, cached: 0, output: 0, reasoning: 0 };

/** Adds the usage of an answer in any protocol. */
export function plusUsageOf(sum: BatchUsage, response: string | null): BatchUsage {
  const usage = record(record(parsed(response))['usage']);
  const input = count(usage['prompt_tokens'] ?? usage['input_tokens']);
  const read = record(usage['prompt_tokens_details'] ?? usage['input_tokens_details']);
  const written = record(usage['completion_tokens_details'] ?? usage['output_tokens_details']);
  return {
    input: sum.input + input,
    cached: sum.cached + count(read['cached_tokens']),
    output: sum.output + count(usage['completion_tokens'] ?? usage['output_tokens']),
    reasoning: sum.reasoning + count(written['reasoning_tokens']),
  };
}

function parsed(json: string | null): unknown {
  try {
    return JSON.parse(json ?? 'null');
  } catch {
    return null;
  }
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? Math.round(value) : 0;
}
