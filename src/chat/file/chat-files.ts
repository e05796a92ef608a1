import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { UserLifecycle } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { DomainError, NotFoundError } from '../../platform/error/index.js';
import { literal, msg } from '../../platform/message/index.js';
import { FileOwners, StorageService } from '../../platform/storage/index.js';
import type { StoredFileInfo } from '../../platform/storage/index.js';
import { AttachService, DocumentReader } from '../../attach/index.js';
import { KnowledgeService } from '../../knowledge/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { ModelResolver } from '../../model/index.js';
import type { ResolvedChatModel, TokenCounter } from '../../model/index.js';
import type { ChatMessage, ContentPart } from '../../provider/index.js';
import { questionWith } from '../turn.planner.js';
import { storableText } from '../turn.repository.js';
import type { StoredMessage } from '../turn.repository.js';
import { CHAT_FILE_KIND, isImageType, isSentImage } from './chat-file.js';
import type { ChatFile } from './chat-file.js';
import {
  BlindModelError,
  FileGoneError,
  FileWaitError,
  ImagesTooLargeError,
  ImageTooLargeError,
  ImageTypeError,
  LargeFileError,
  TooManyImagesError,
  UnreadableFileError,
} from './chat-file.errors.js';
import { FileFailures } from './file-failures.js';
import type { FileError } from './file-failures.js';
import { ChatFileRepository } from './chat-file.repository.js';
import type { MessageScope } from './chat-file.repository.js';
import { failedNote, leftOutNote, quotedFile, searchedNote, withFiles } from './file-quotation.js';
import type { QuotedFile } from './file-quotation.js';

const MIB = 2 ** 20;

/**
 * Limits of the files of one call. `tokens` are those of documents that are quoted; larger ones are searched, and a question
 * waits for them. `images` count those of earlier questions, too.
 */
export const CHAT_FILE_LIMITS = {
  tokens: 8_000,
  waitSeconds: 5 * 60,
  images: 10,
  imageMib: 5,
  imagesMib: 20,
};

/** Poll interval while documents are parsed. */
const LOOK_MS = 250;

/** Texts with more bytes or characters per available token are too long; their tokens are not counted. */
const MAX_CHARS_PER_TOKEN = 8;

/** The turn whose files are read. */
interface FileTurn {
  readonly caller: Caller;
  /** The files of its question. */
  readonly files: readonly ChatFile[];
  readonly questionId: number;
  /** Stored states of the files if the question is answered again. */
  readonly storedFiles: readonly ChatFile[];
  readonly sessionId: number | undefined;
  readonly model: Pick<ResolvedChatModel, 'supportsVision'>;
  /** Token budget for documents in the model's window, and the counter for it. */
  readonly room: number;
  readonly counter: TokenCounter;
  readonly signal: AbortSignal;
}

/** Input of a turn that comes from the files of its conversation. */
export interface TurnFiles {
  /** Files of the question that could not be read. */
  readonly failed: readonly ChatFile[];
  /** The stored messages with the files of the questions. */
  readonly history: readonly StoredMessage[];
  /** The question with its images and small documents. */
  readonly question: (content: string) => ChatMessage;
  /** Tokens added to the content, without images. */
  readonly addedTokens: number;
  /** The knowledge base of the session, if it has one. */
  readonly bases: readonly KnowledgeBase[];
}

/** Remaining image budget of a call. */
interface ImageBudget {
  count: number;
  bytes: number;
}

/**
 * Files in a chat: uploads of the caller that a question is sent with. An upload becomes part of the message and is deleted
 * with the last message that refers to it. Images are sent to the model; the text of small documents is quoted in the
 * question; large ones are documents of a knowledge base that belongs to the session.
 */
@Injectable()
export class ChatFiles {
  constructor(
    private readonly storage: StorageService,
    private readonly documents: DocumentReader,
    private readonly attachments: AttachService,
    private readonly knowledge: KnowledgeService,
    private readonly models: ModelResolver,
    private readonly repository: ChatFileRepository,
    private readonly database: Database,
    owners: FileOwners,
    users: UserLifecycle,
  ) {
    owners.join(CHAT_FILE_KIND, {
      readable: (caller, ids) => repository.referenced(caller, ids),
    });
    users.join({ deleting: (userIds) => storage.removeOfUsers(userIds, CHAT_FILE_KIND) });
  }

  /**
   * The files for a question to the model, in the order of the ids. A file that can never be read is failed with the reason, and
   * the question goes on without it. Throws the DomainError that says what to do about a file that is not the caller's,
   * images that the model does not read or of which there are too many, and where no file is left. Reads no document yet.
   */
  async check(
    caller: Caller,
    ids: readonly number[],
    model: Pick<ResolvedChatModel, 'modelName' | 'supportsVision'>,
  ): Promise<ChatFile[]> {
    const uploads = await this.storage.ownUploads(caller, [...new Set(ids)], CHAT_FILE_KIND);
    const failures = new FileFailures();
    for (const upload of uploads) {
      const failure = await this.failureOf(caller, upload);
      if (failure) failures.add(upload.id, failure);
    }
    const readable = uploads.filter(({ id }) => !failures.has(id));
    this.checkImages(
      readable.filter(({ mimeType }) => isImageType(mimeType)),
      model,
    );
    failures.throwUnlessAny(readable);
    return uploads.map((upload) => failures.applyTo(chatFileOf(upload)));
  }

  /**
   * Reads an upload of the caller before it is sent: failed with the reason if no question can be asked about it. A document that
   * takes too long is left to the question.
   */
  async inspect(caller: Caller, id: number, signal: AbortSignal): Promise<ChatFile> {
    const [upload] = await this.storage.ownUploads(caller, [id], CHAT_FILE_KIND);
    if (!upload) throw new NotFoundError(msg`The file`);
    const file = chatFileOf(upload);
    const failures = new FileFailures();
    const failure = await this.failureOf(caller, upload);
    if (failure) failures.add(id, failure);
    else if (file.kind === 'document' && (await this.mayBeRead(caller, upload))) {
      const deadline = AbortSignal.timeout(CHAT_FILE_LIMITS.waitSeconds * 1_000);
      try {
        const text = await this.textOf(caller.tenantId, file, AbortSignal.any([signal, deadline]));
        if (text.length <= this.maxCharacters) {
          await this.repository.keepText(caller.tenantId, id, text);
        }
      } catch (error) {
        if (!deadline.aborted) failures.catch(id, error);
      }
    }
    return failures.applyTo(file);
  }

  /** False for a document that is already read, and for a text that is long enough to be only searched. */
  private async mayBeRead({ tenantId }: Caller, upload: StoredFileInfo): Promise<boolean> {
    if (upload.mimeType.startsWith('text/') && upload.byteSize > this.maxCharacters) return false;
    return !(await this.repository.texts(tenantId, [upload.id])).has(upload.id);
  }

  /** Longer texts exceed the tokens that a question may quote. */
  private get maxCharacters(): number {
    return CHAT_FILE_LIMITS.tokens * MAX_CHARS_PER_TOKEN;
  }

  /** Reason why an upload can never be read, from its type and size. */
  private async failureOf(
    { tenantId }: Caller,
    upload: StoredFileInfo,
  ): Promise<FileError | undefined> {
    const { originalName: name, mimeType, byteSize } = upload;
    const { imageMib } = CHAT_FILE_LIMITS;
    if (isImageType(mimeType)) {
      if (!isSentImage(mimeType)) return new ImageTypeError(name, mimeType);
      const isTooLarge = byteSize > imageMib * MIB;
      return isTooLarge ? new ImageTooLargeError(name, imageMib) : undefined;
    }
    const refusal = await this.documents.refusal(tenantId, upload);
    return refusal === undefined ? undefined : new UnreadableFileError(name, refusal);
  }

  /** Stores a question with its files, which become part of it, in one transaction. `insert` stores the question. */
  async begin<Begun extends { readonly id: number }>(
    caller: Caller,
    files: readonly ChatFile[],
    insert: () => Promise<Begun | undefined>,
  ): Promise<Begun | undefined> {
    return this.database.transaction(async () => {
      const begunTurn = await insert();
      if (begunTurn === undefined) return undefined;
      await this.storage.claim(caller, idsOf(files), CHAT_FILE_KIND);
      await this.repository.setFiles(caller.tenantId, begunTurn.id, files);
      return begunTurn;
    });
  }

  /**
   * Reads the files of the question and of the conversation; waits until large documents are parsed. What cannot be read is
   * left out, named to the model and stored with the reason. Throws a DomainError that names a file if none can be read, or if a document is too large for a question without a session, and
   * the signal's reason when that aborts.
   */
  async ofTurn(turn: FileTurn, stored: readonly StoredMessage[]): Promise<TurnFiles> {
    const { caller, files, sessionId } = turn;
    const imageBudget = {
      count: CHAT_FILE_LIMITS.images,
      bytes: CHAT_FILE_LIMITS.imagesMib * MIB,
    };
    // Documents may have to be waited for, so images are read after them.
    const quoted = await this.readDocuments(turn);
    const images = await this.images(
      caller,
      files.filter(({ state }) => state !== 'failed'),
      imageBudget,
    );
    const history = await this.withHistoryFiles(turn, stored, imageBudget);
    const isSearched =
      quoted.searched.length > 0 || stored.some(({ hasSessionBase }) => hasSessionBase);
    const base =
      isSearched && sessionId !== undefined
        ? await this.knowledge.ofSession(caller, sessionId)
        : undefined;
    const notes = [
      ...quoted.searched.map(({ name }) => searchedNote(name)),
      ...quoted.failed.map(({ name }) => failedNote(name)),
    ];
    return {
      failed: quoted.failed,
      history,
      question: (content) => questionWith(withFiles(content, quoted.texts, notes), images),
      addedTokens: turn.counter.count(withFiles('', quoted.texts, notes)),
      bases: base ? [base] : [],
    };
  }

  /**
   * Deletes messages of the caller by `remove`, and with them the documents and files that no other message of theirs
   * refers to. For sessions also their knowledge bases.
   */
  async deleting(caller: Caller, scope: MessageScope, remove: () => Promise<void>): Promise<void> {
    const { sessionIds = [] } = scope;
    await this.database.longTransaction(async () => {
      if (sessionIds.length > 0) await this.repository.lockSessions(caller, sessionIds);
      const before = await this.repository.ofMessages(caller, scope);
      await this.knowledge.removeOfSessions(caller, sessionIds);
      await remove();
      if (before.length === 0) return;
      const ids = [...new Set(before.map(({ id }) => id))];
      await this.storage.lock(caller, ids);
      const unused = await this.repository.unusedDocuments(caller, before);
      await this.attachments.removeOfSession(caller, unused);
      const referencedIds = await this.repository.referenced(caller, ids);
      await this.storage.removeOwned(
        caller,
        ids.filter((id) => !referencedIds.has(id)),
      );
    });
  }

  private checkImages(
    images: readonly StoredFileInfo[],
    { modelName, supportsVision }: Pick<ResolvedChatModel, 'modelName' | 'supportsVision'>,
  ): void {
    const { images: maxImages, imagesMib } = CHAT_FILE_LIMITS;
    const [first] = images;
    if (first && supportsVision === false) {
      throw new BlindModelError(modelName, first.originalName);
    }
    if (images.length > maxImages) throw new TooManyImagesError(images.length, maxImages);
    const bytes = images.reduce((sum, { byteSize }) => sum + byteSize, 0);
    if (bytes > imagesMib * MIB) throw new ImagesTooLargeError(imagesMib);
  }

  /** The images among the files; deducts them from the budget. */
  private async images(
    { tenantId }: Caller,
    files: readonly ChatFile[],
    imageBudget: ImageBudget,
  ): Promise<ContentPart[]> {
    const parts: ContentPart[] = [];
    for (const { id, kind, type, size } of files) {
      if (kind !== 'image') continue;
      imageBudget.count -= 1;
      imageBudget.bytes -= size;
      const { content } = await this.storage.open(tenantId, id);
      const data = (await buffer(content)).toString('base64');
      parts.push({ type: 'image', mimeType: type, data });
    }
    return parts;
  }

  /** The documents of the question: the texts of small ones in order, those that are searched, and all files that failed. */
  private async readDocuments(turn: FileTurn): Promise<{
    readonly texts: readonly QuotedFile[];
    readonly searched: readonly ChatFile[];
    readonly failed: readonly ChatFile[];
  }> {
    const { caller, files, questionId, storedFiles } = turn;
    const isFailed = ({ state }: ChatFile): boolean => state === 'failed';
    if (!files.some(({ kind }) => kind === 'document')) {
      return { texts: [], searched: [], failed: files.filter(isFailed) };
    }
    const done = new Map<number, ChatFile>();
    const failures = new FileFailures();
    const outcome = (): ChatFile[] =>
      files.map((file) => done.get(file.id) ?? failures.applyTo(file));
    // A file that was read once stays part of the conversation.
    const withStoredState = (file: ChatFile): ChatFile => {
      const stored = storedFiles.find(({ id }) => id === file.id);
      const isRead =
        stored !== undefined && stored.state !== 'failed' && stored.state !== 'reading';
      const read = done.get(file.id) ?? (isRead ? stored : undefined);
      return read ?? (failures.has(file.id) ? failures.applyTo(file) : (stored ?? file));
    };
    const store = (): Promise<void> =>
      this.repository.setFiles(caller.tenantId, questionId, files.map(withStoredState));
    try {
      const texts = await this.readAll(turn, done, failures);
      failures.throwUnlessAny(files.filter((file) => !isFailed(file) && !failures.has(file.id)));
      await store();
      const searched = [...done.values()].filter(({ state }) => state === 'searched');
      return { texts, searched, failed: outcome().filter(isFailed) };
    } catch (error) {
      // Ignored: the states are informational, and the error of the turn matters more.
      await store().catch(() => undefined);
      throw error;
    }
  }

  /** Quotes small documents, indexes large ones and waits for them. */
  private async readAll(
    turn: FileTurn,
    done: Map<number, ChatFile>,
    failures: FileFailures,
  ): Promise<QuotedFile[]> {
    const { caller, files, signal } = turn;
    const seconds = CHAT_FILE_LIMITS.waitSeconds;
    const deadline = AbortSignal.timeout(seconds * 1_000);
    const limited = { ...turn, signal: AbortSignal.any([signal, deadline]) };
    const infos = await this.storage.ownUploads(caller, idsOf(files), CHAT_FILE_KIND);
    const texts: QuotedFile[] = [];
    const large = new Map<number, ChatFile>();
    let remainingTokens = Math.min(CHAT_FILE_LIMITS.tokens, turn.room);
    for (const [index, file] of files.entries()) {
      const info = infos[index];
      if (file.kind !== 'document' || file.state === 'failed' || !info) continue;
      try {
        const text = await within(deadline, file, seconds, () =>
          this.smallText(limited, { file, info, remainingTokens }),
        );
        if (text === undefined) {
          const base = await this.sessionBase(turn, file);
          const attachmentId = await this.attachments.add(caller, base, info);
          const { id: knowledgeId } = base;
          large.set(attachmentId, { ...file, state: 'searched', knowledgeId, attachmentId });
        } else {
          remainingTokens -= fileTokens(turn, file, text);
          texts.push({ name: file.name, text });
          done.set(file.id, { ...file, state: 'quoted' });
        }
      } catch (error) {
        signal.throwIfAborted();
        failures.catch(file.id, error);
      }
    }
    await this.parsed(limited, { large, done, failures, deadline, seconds });
    return texts;
  }

  /** The document's text if it fits; otherwise undefined in a session, or LargeFileError without one. */
  private async smallText(
    turn: FileTurn,
    at: {
      readonly file: ChatFile;
      readonly info: StoredFileInfo;
      readonly remainingTokens: number;
    },
  ): Promise<string | undefined> {
    const { caller, sessionId, signal } = turn;
    const { tenantId } = caller;
    const { file, info, remainingTokens } = at;
    if (sessionId !== undefined && (await this.isSearched(caller, sessionId, info))) {
      return undefined;
    }
    const storedText = (await this.repository.texts(tenantId, [file.id])).get(file.id);
    const isLong =
      info.mimeType.startsWith('text/') && file.size > remainingTokens * MAX_CHARS_PER_TOKEN;
    const text = isLong ? undefined : (storedText ?? (await this.textOf(tenantId, file, signal)));
    const isCounted = text !== undefined && text.length <= remainingTokens * MAX_CHARS_PER_TOKEN;
    const tokens = isCounted ? fileTokens(turn, file, text) : undefined;
    if (text !== undefined && tokens !== undefined && tokens <= remainingTokens) {
      if (storedText === undefined) await this.repository.keepText(tenantId, file.id, text);
      return text;
    }
    if (sessionId === undefined)
      throw new LargeFileError(file.name, tokens, Math.max(0, remainingTokens));
    return undefined;
  }

  private async isSearched(
    caller: Caller,
    sessionId: number,
    { sha256 }: StoredFileInfo,
  ): Promise<boolean> {
    const base = await this.knowledge.ofSession(caller, sessionId);
    return base !== undefined && (await this.attachments.withContent(base, sha256)) !== undefined;
  }

  private async textOf(tenantId: string, file: ChatFile, signal: AbortSignal): Promise<string> {
    try {
      return storableText(await this.documents.text(tenantId, file.id, signal));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof NotFoundError) throw new FileGoneError(file.name);
      throw error instanceof DomainError
        ? new UnreadableFileError(file.name, error.userMessage)
        : error;
    }
  }

  private async sessionBase(
    { caller, sessionId, room }: FileTurn,
    { name }: ChatFile,
  ): Promise<KnowledgeBase> {
    if (sessionId === undefined) throw new LargeFileError(name, undefined, room);
    const existingBase = await this.knowledge.ofSession(caller, sessionId);
    if (existingBase) return existingBase;
    const model = await this.models.firstEmbedding(caller);
    return this.knowledge.createOfSession(caller, sessionId, model ?? '');
  }

  /** Resolves when all large documents are parsed or have failed. */
  private async parsed(
    { caller, signal }: FileTurn,
    at: {
      readonly large: ReadonlyMap<number, ChatFile>;
      readonly done: Map<number, ChatFile>;
      readonly failures: FileFailures;
      readonly deadline: AbortSignal;
      readonly seconds: number;
    },
  ): Promise<void> {
    const { large, done, failures, deadline, seconds } = at;
    const waiting = new Map(large);
    while (waiting.size > 0) {
      const states = await this.attachments.parsingStates(caller.tenantId, [...waiting.keys()]);
      for (const [attachmentId, file] of waiting) {
        const { state, reason = null } = states.get(attachmentId) ?? {};
        if (state === undefined) failures.add(file.id, new FileGoneError(file.name));
        else if (state === 'failed')
          failures.add(file.id, new UnreadableFileError(file.name, reason ?? literal('')));
        else if (state === 'parsed') done.set(file.id, file);
        else if (deadline.aborted)
          failures.add(file.id, new FileWaitError(file.name, seconds, reason));
        else continue;
        waiting.delete(attachmentId);
      }
      if (waiting.size === 0) return;
      await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
      if (!deadline.aborted) signal.throwIfAborted();
    }
  }

  /** The stored messages. Questions include their documents and, newest first, as many images as fit. */
  private async withHistoryFiles(
    { caller, model }: FileTurn,
    stored: readonly StoredMessage[],
    imageBudget: ImageBudget,
  ): Promise<StoredMessage[]> {
    const quoted = stored.flatMap(({ files }) =>
      (files ?? []).filter(({ state }) => state === 'quoted').map(({ id }) => id),
    );
    const texts =
      quoted.length === 0
        ? new Map<number, string>()
        : await this.repository.texts(caller.tenantId, quoted);
    const messages: StoredMessage[] = [];
    for (const message of [...stored].reverse()) {
      const { files, content } = message;
      if (!files || typeof content !== 'string') {
        messages.unshift(message);
        continue;
      }
      const images: ContentPart[] = [];
      const notes: string[] = [];
      for (const file of files) {
        if (file.state === 'searched') notes.push(searchedNote(file.name));
        if (file.state === 'failed') notes.push(failedNote(file.name));
        if (file.kind !== 'image' || file.state === 'failed') continue;
        const fits =
          imageBudget.count > 0 && imageBudget.bytes >= file.size && model.supportsVision !== false;
        const fittingImages = fits ? await this.historyImage(caller, file, imageBudget) : [];
        images.push(...fittingImages);
        if (fittingImages.length === 0) notes.push(leftOutNote(file.name));
      }
      const documents = files.flatMap(({ id, name }): QuotedFile[] => {
        const text = texts.get(id);
        return text === undefined ? [] : [{ name, text }];
      });
      const question = questionWith(withFiles(content, documents, notes), images);
      messages.unshift({ ...message, content: question.content });
    }
    return messages;
  }

  /** An image of the history; empty if its content was deleted. */
  private async historyImage(
    caller: Caller,
    file: ChatFile,
    imageBudget: ImageBudget,
  ): Promise<ContentPart[]> {
    try {
      return await this.images(caller, [file], imageBudget);
    } catch (error) {
      if (error instanceof DomainError && error.code === 404) return [];
      throw error;
    }
  }
}

function chatFileOf({ id, originalName, mimeType, byteSize }: StoredFileInfo): ChatFile {
  const isImage = isImageType(mimeType);
  return {
    id,
    name: originalName,
    type: mimeType,
    size: byteSize,
    kind: isImage ? 'image' : 'document',
    state: isImage ? 'sent' : 'reading',
  };
}

function idsOf(files: readonly ChatFile[]): number[] {
  return files.map(({ id }) => id);
}

/** Tokens of a quoted document, including its tags and name. */
function fileTokens({ counter }: FileTurn, { name }: ChatFile, text: string): number {
  return counter.count(quotedFile({ name, text })) + 1;
}

/** Result of the work, or FileWaitError if the deadline aborted it. */
async function within<T>(
  deadline: AbortSignal,
  file: ChatFile,
  seconds: number,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (deadline.aborted) throw new FileWaitError(file.name, seconds, null);
    throw error;
  }
}
