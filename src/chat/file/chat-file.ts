import type { Message } from '../../platform/message/index.js';

/** Owner kind of chat files in the storage. */
export const CHAT_FILE_KIND = 'chat';

/** Maximum files per question. */
export const MAX_FILES = 10;

/** The images that every protocol accepts. */
const SENT_IMAGES = ['image/png', 'image/jpeg', 'image/webp', 'image/gif'];

/**
 * How a file reaches the model: `sent` an image as it is; `reading` a document whose text is not read yet; `quoted` its text
 * is part of the question; `searched` it is a document of the session's knowledge base; `failed` it could not be read.
 */
export type ChatFileState = 'sent' | 'reading' | 'quoted' | 'searched' | 'failed';

/** A file of a question, as the message stores it. */
export interface ChatFile {
  /** Id of the upload. */
  readonly id: number;
  readonly name: string;
  /** Media type, detected from the content. */
  readonly type: string;
  readonly size: number;
  readonly kind: 'image' | 'document';
  readonly state: ChatFileState;
  /** Reason of the failure and what to do; only for failed files. */
  readonly reason?: Message;
  /** The session's knowledge base and the document in it; only for searched files. */
  readonly knowledgeId?: number;
  readonly attachmentId?: number;
}

export function isImageType(mimeType: string): boolean {
  return mimeType.startsWith('image/');
}

export function isSentImage(mimeType: string): boolean {
  return SENT_IMAGES.includes(mimeType);
}
