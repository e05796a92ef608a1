import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { Database } from '../../platform/database/index.js';
import { InvalidInputError, NotFoundError } from '../../platform/error/index.js';
import { msg } from '../../platform/message/index.js';
import type { SendBody } from '../chat.dto.js';
import { TurnInProgressError } from '../chat.errors.js';
import type { ChatFile } from '../file/chat-file.js';
import type { ChatMessage } from '../message.entity.js';
import type { TurnPlace } from '../turn.repository.js';
import { newestLeaf, withoutMessages } from './branch.js';
import { BranchRepository } from './branch.repository.js';
import type { LockedSession, PlacedMessage } from './branch.repository.js';

/** A message that does not continue the current branch. */
export interface Placement {
  readonly place: TurnPlace;
  /** The question of the body, or the stored one that is answered again. */
  readonly content: string;
  /** Files of a stored question. */
  readonly files?: readonly ChatFile[];
}

/**
 * The branches of a conversation. Each message has a parent, a session the last message of its current branch. The
 * messages of a branch are in the order of their ids.
 */
@Injectable()
export class ChatBranches {
  constructor(
    private readonly branches: BranchRepository,
    private readonly database: Database,
  ) {}

  /** Undefined for a message that continues the current branch. */
  async placementOf(caller: Caller, body: SendBody): Promise<Placement | undefined> {
    const { sessionId, regenerate, editOf, parentId, content } = body;
    const placementIds = [regenerate, editOf, parentId].filter((id) => id !== undefined);
    const [id] = placementIds;
    if (id === undefined) return undefined;
    if (placementIds.length > 1) {
      throw new InvalidInputError(msg`Send only one of regenerate, editOf and parentId.`);
    }
    if (sessionId === undefined) {
      throw new InvalidInputError(msg`sessionId is required with regenerate, editOf and parentId.`);
    }
    if (regenerate !== undefined && hasContent(body)) {
      throw new InvalidInputError(
        msg`regenerate takes no content. Send editOf to ask another question in its place.`,
      );
    }
    if (regenerate !== undefined && body.files !== undefined) {
      throw new InvalidInputError(
        msg`regenerate takes no files. Send editOf with the content and the files instead.`,
      );
    }
    await this.message(caller, sessionId, id);
    await this.branches.open(caller, sessionId);
    const message = await this.message(caller, sessionId, id);
    if (regenerate !== undefined) return this.answerAgain(caller, sessionId, message);
    if (editOf === undefined) return { place: { kind: 'question', parentId: id }, content };
    if (message.role !== 'user')
      throw new InvalidInputError(msg`editOf must be the id of a question.`);
    return { place: { kind: 'question', parentId: message.parentId }, content };
  }

  private async answerAgain(
    caller: Caller,
    sessionId: number,
    message: PlacedMessage,
  ): Promise<Placement> {
    const isAnswer = message.role === 'assistant' && message.parentId !== null;
    const question = isAnswer
      ? await this.branches.message(caller, sessionId, message.parentId)
      : message;
    if (question?.role !== 'user') {
      throw new InvalidInputError(msg`regenerate must be the id of a question or of its answer.`);
    }
    const { id: questionId, parentId, content, files } = question;
    const place = { kind: 'answer', questionId, parentId } as const;
    return { place, content, ...(files && { files }) };
  }

  /** The ids of the messages of the current branch; undefined where that is all of them. */
  async current(caller: Caller, sessionId: number): Promise<readonly number[] | undefined> {
    return this.branches.current(caller, sessionId);
  }

  async siblings(
    caller: Caller,
    messages: readonly ChatMessage[],
  ): Promise<ReadonlyMap<number, readonly number[]>> {
    return this.branches.siblings(caller, messages);
  }

  /** Makes the branch through the message that has the newest end the current one. */
  async choose(caller: Caller, sessionId: number, messageId: number): Promise<void> {
    await this.database.transaction(async () => {
      const { running } = await this.lock(caller, sessionId);
      await this.message(caller, sessionId, messageId);
      if (running) throw new TurnInProgressError();
      if ((await this.current(caller, sessionId)) === undefined) return;
      const links = await this.branches.links(caller, sessionId);
      await this.branches.setLeaf(caller, sessionId, newestLeaf(links, messageId));
    });
  }

  /** Adds a message at the end of the current branch: `insert` answers the id for the parent that it is given. */
  async append(
    caller: Caller,
    sessionId: number,
    insert: (parentId: number | null) => Promise<number>,
  ): Promise<number> {
    return this.database.transaction(async () => {
      const { leafId } = await this.lock(caller, sessionId);
      const id = await insert(leafId);
      await this.branches.setLeaf(caller, sessionId, id);
      return id;
    });
  }

  /**
   * Takes messages out of their branches before they are deleted: what followed one follows its parent. Where that was the
   * end of the current branch, the newest branch through what is left of it becomes the current one. Call it in a
   * transaction.
   */
  async detach(caller: Caller, messages: readonly ChatMessage[]): Promise<void> {
    const deleted = new Set(messages.map(({ id }) => id));
    const sessions = new Set(messages.flatMap(({ sessionId }) => sessionId ?? []));
    // Locked in one order, so that two deletions cannot deadlock.
    for (const sessionId of [...sessions].sort((a, b) => a - b)) {
      const { leafId, running } = await this.lock(caller, sessionId);
      const stored = await this.branches.links(caller, sessionId);
      const { links, moved, leaf } = withoutMessages(stored, deleted, leafId);
      if (moved.length > 0) await this.branches.move(caller, moved);
      if (leaf === undefined) continue;
      // A running answer follows the rest of its own branch.
      const end = running ? leaf : newestLeaf(links, leaf);
      await this.branches.setLeaf(caller, sessionId, end);
    }
  }

  private async lock(caller: Caller, sessionId: number): Promise<LockedSession> {
    const session = await this.branches.lock(caller, sessionId);
    if (!session) throw new NotFoundError(msg`The chat session`);
    return session;
  }

  private async message(caller: Caller, sessionId: number, id: number): Promise<PlacedMessage> {
    const message = await this.branches.message(caller, sessionId, id);
    if (!message) throw new NotFoundError(msg`The chat message`);
    return message;
  }
}

/** Required by SendBody except with `regenerate`. */
function hasContent({ content }: Partial<SendBody>): boolean {
  return content !== undefined;
}
