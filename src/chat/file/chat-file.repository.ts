import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import type { ChatFile } from './chat-file.js';

/** Selects the caller's messages by their ids or by their sessions. */
export interface MessageScope {
  readonly messageIds?: readonly number[];
  readonly sessionIds?: readonly number[];
}

/** The files and documents that a message references. */
export interface FileReference {
  readonly id: number;
  readonly attachmentId: number | null;
}

/** The files of the caller's own messages. */
@Injectable()
export class ChatFileRepository {
  constructor(private readonly database: Database) {}

  /** Stores the states of a question's files. */
  async setFiles(tenantId: string, questionId: number, files: readonly ChatFile[]): Promise<void> {
    await this.database.query(
      'UPDATE chat_message SET files = $3::jsonb WHERE tenant_id = $1 AND id = $2',
      [tenantId, questionId, JSON.stringify(files)],
    );
  }

  /** The stored texts by file id; files without one are missing. */
  async texts(tenantId: string, fileIds: readonly number[]): Promise<ReadonlyMap<number, string>> {
    const rows = await this.database.query<{ fileId: number; content: string }>(
      `SELECT file_id AS "fileId", content FROM chat_file_text
        WHERE tenant_id = $1 AND file_id = ANY ($2::bigint[])`,
      [tenantId, fileIds],
    );
    return new Map(rows.map(({ fileId, content }) => [fileId, content]));
  }

  /** Stores the text of a file unless the file was deleted meanwhile. */
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

  /** The files and documents that the messages reference. */
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

  /** The ids among these that messages of the caller reference. */
  async referenced(
    { tenantId, userId }: Pick<Caller, 'tenantId' | 'userId'>,
    fileIds: readonly number[],
  ): Promise<Set<number>> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT DISTINCT (file->>'id')::bigint AS id
         FROM chat_message message CROSS JOIN LATERAL jsonb_array_elements(message.files) AS file
        WHERE message.tenant_id = $1 AND message.user_id = $2 AND message.files IS NOT NULL
          AND (file->>'id')::bigint = ANY ($3::bigint[])`,
      [tenantId, userId, fileIds],
    );
    return new Set(rows.map(({ id }) => id));
  }

  /**
   * The documents of the references in knowledge bases of the caller's sessions, as far as no message of the session refers
   * to the document or its file. A document is found by its file, too: a message has its id only when it is parsed.
   */
  async unusedDocuments(
    { tenantId, userId }: Caller,
    references: readonly FileReference[],
  ): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT document.id FROM attachment document
         JOIN knowledge_base base ON base.tenant_id = document.tenant_id AND base.id = document.knowledge_id
        WHERE document.tenant_id = $1 AND base.user_id = $2 AND base.session_id IS NOT NULL
          AND (document.oss_id = ANY ($3::bigint[]) OR document.id = ANY ($4::bigint[]))
          AND NOT EXISTS (
            SELECT 1 FROM chat_message message CROSS JOIN LATERAL jsonb_array_elements(message.files) AS file
             WHERE message.tenant_id = $1 AND message.user_id = $2 AND message.files IS NOT NULL
               AND message.session_id = base.session_id
               AND ((file->>'id')::bigint = document.oss_id
                 OR (file->>'attachmentId')::bigint = document.id))`,
      [
        tenantId,
        userId,
        references.map(({ id }) => id),
        references.flatMap(({ attachmentId }) => attachmentId ?? []),
      ],
    );
    return rows.map(({ id }) => id);
  }
}
