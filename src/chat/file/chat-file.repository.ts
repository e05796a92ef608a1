import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import type { ChatFile } from './chat-file.js';

/** Messages of the caller by their ids, or those of sessions. */
export interface MessageScope {
  readonly messageIds?: readonly number[];
  readonly sessionIds?: readonly number[];
}

/** What a message refers to. */
export interface FileReference {
  readonly id: number;
  readonly attachmentId: number | null;
}

/** The files of the caller's own messages. */
@Injectable()
export class ChatFileRepository {
  constructor(private readonly database: Database) {}

  /** Stores what became of the files of a question. */
  async setFiles(tenantId: string, questionId: number, files: readonly ChatFile[]): Promise<void> {
    await this.database.query(
      'UPDATE chat_message SET files = $3::jsonb WHERE tenant_id = $1 AND id = $2',
      [tenantId, questionId, JSON.stringify(files)],
    );
  }

  /** The texts of those files that have one, by file. */
  async texts(tenantId: string, fileIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
    const rows = await this.database.query<{ fileId: number; content: string }>(
      `SELECT file_id AS "fileId", content FROM chat_file_text
        WHERE tenant_id = $1 AND file_id = ANY ($2::bigint[])`,
      [tenantId, fileIds],
    );
    return new Map(rows.map(({ fileId, content }) => [fileId, content]));
  }

  /** Stores the text of a file, unless that was deleted meanwhile. */
  async keepText(tenantId: string, fileId: number, content: string): Promise<void> {
    await this.database.query(
      `INSERT INTO chat_file_text (tenant_id, file_id, content)
       SELECT tenant_id, id, $3 FROM stored_file WHERE tenant_id = $1 AND id = $2
       ON CONFLICT (file_id) DO NOTHING`,
      [tenantId, fileId, content],
    );
  }

  /** Blocks new messages of the caller's sessions until the open transaction ends. */
  async lockSessions({ tenantId, userId }: Caller, sessionIds: readonly number[]): Promise<void> {
    await this.database.query(
      `SELECT id FROM chat_session
        WHERE tenant_id = $1 AND user_id = $2 AND id = ANY ($3::bigint[]) ORDER BY id FOR UPDATE`,
      [tenantId, userId, sessionIds],
    );
  }

  /** What the messages refer to. */
  async ofMessages(
    { tenantId, userId }: Caller,
    { messageIds = [], sessionIds = [] }: MessageScope,
  ): Promise<FileReference[]> {
    return this.database.query(
      `SELECT DISTINCT (file->>'id')::bigint AS id, (file->>'attachmentId')::bigint AS "attachmentId"
         FROM chat_message message CROSS JOIN LATERAL jsonb_array_elements(message.files) AS file
        WHERE message.tenant_id = $1 AND message.user_id = $2 AND message.files IS NOT NULL
          AND (message.id = ANY ($3::bigint[]) OR message.session_id = ANY ($4::bigint[]))`,
      [tenantId, userId, messageIds, sessionIds],
    );
  }

  /** What messages of the caller refer to among these files. */
  async referenced(
    { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
    fileIds: readonly number[],
  ): Promise<FileReference[]> {
    return this.database.query(
      `SELECT DISTINCT (file->>'id')::bigint AS id, (file->>'attachmentId')::bigint AS "attachmentId"
         FROM chat_message message CROSS JOIN LATERAL jsonb_array_elements(message.files) AS file
        WHERE message.tenant_id = $1 AND message.user_id = $2 AND message.files IS NOT NULL
          AND (file->>'id')::bigint = ANY ($3::bigint[])`,
      [tenantId, userId, fileIds],
    );
  }
}
