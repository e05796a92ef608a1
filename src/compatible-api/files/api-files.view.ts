import {
  flag,
  integer,
  list,
  nullable,
  oneOf,
  optional,
  text,
  View,
} from '../../platform/http/index.js';
import type { ApiFile } from './api-file.entity.js';

const ID = { example: 'file-0c1f2e3d4b5a69788796a5b4c3d2e1f0' };

/** FileObject of openai 7.57 (November 2026). */
export class OpenAiFileView extends View({
  id: text(ID),
  object: oneOf(['file']),
  bytes: integer({ example: 12_345 }),
  created_at: integer({ description: 'Seconds since the epoch' }),
  expires_at: optional(
    integer({ description: 'Seconds since the epoch. Absent: kept until it is deleted' }),
  ),
  filename: text({ example: 'requests.jsonl' }),
  purpose: oneOf(['batch', 'batch_output', 'user_data', 'vision', 'assistants']),
  status: oneOf(['processed']),
}) {}

export class OpenAiFilesView extends View({
  object: oneOf(['list']),
  data: list(OpenAiFileView),
  first_id: nullable(text()),
  last_id: nullable(text()),
  has_more: flag(),
}) {}

export class OpenAiDeletedFileView extends View({
  id: text(ID),
  object: oneOf(['file']),
  deleted: flag(),
}) {}

/** BetaFileMetadata of @anthropic-ai/sdk 1.12 (November 2026). */
export class AnthropicFileView extends View({
  id: text(ID),
  type: oneOf(['file']),
  filename: text({ example: 'report.pdf' }),
  mime_type: text({ example: 'application/pdf' }),
  size_bytes: integer({ example: 12_345 }),
  created_at: text({ description: 'RFC 3339' }),
  downloadable: flag(),
  expires_at: nullable(text({ description: 'RFC 3339. null: kept until it is deleted' })),
}) {}

export class AnthropicFilesView extends View({
  data: list(AnthropicFileView),
  has_more: flag(),
  first_id: nullable(text()),
  last_id: nullable(text()),
  next_page: nullable(text()),
}) {}

export class AnthropicDeletedFileView extends View({
  id: text(ID),
  type: oneOf(['file_deleted']),
}) {}

export function secondsOf(time: Date): number {
  return Math.floor(time.getTime() / 1_000);
}

export function openAiFile(file: ApiFile): OpenAiFileView {
  const { id, byteSize, createTime, expireTime, fileName, purpose } = file;
  return {
    id,
    object: 'file',
    bytes: byteSize,
    created_at: secondsOf(createTime),
    ...(expireTime && { expires_at: secondsOf(expireTime) }),
    filename: fileName,
    purpose,
    status: 'processed',
  };
}

export function anthropicFile(file: ApiFile): AnthropicFileView {
  const { id, byteSize, createTime, expireTime, fileName, mimeType } = file;
  return {
    id,
    type: 'file',
    filename: fileName,
    mime_type: mimeType,
    size_bytes: byteSize,
    created_at: createTime.toISOString(),
    downloadable: true,
    expires_at: expireTime?.toISOString() ?? null,
  };
}

/** Ids that request the next and the previous page. */
export function endsOf(data: readonly { readonly id: string }[]): {
  first_id: string | null;
  last_id: string | null;
} {
  return { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}
