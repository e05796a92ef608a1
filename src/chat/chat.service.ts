import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import type { Caller, StreamPlace } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { isUniqueViolation } from '../platform/database/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { localized, SseWriter } from '../platform/http/index.js';
import { phrase } from '../platform/message/index.js';
import { TurnSources } from '../agent/index.js';
import { estimatingCounter, ModelResolver, tokenCounter } from '../model/index.js';
import type { ChatMessage } from '../provider/index.js';
import { ChatBranches } from './branch/chat.branches.js';
import { ChatAnswer } from './chat.answer.js';
import type { SendBody } from './chat.dto.js';
import { TurnInProgressError } from './chat.errors.js';
import { contentFrame, filesFrame, sourcesFrame } from './chat.frames.js';
import type { ChatFile } from './file/chat-file.js';
import { ChatFiles } from './file/chat-files.js';
import type { TurnFiles } from './file/chat-files.js';
import { addableTokens, historyWindow } from './chat.history.js';
import type { HistoryLimits, StoredMessage } from './chat.history.js';
import { ChatStreams } from './chat.streams.js';
import { Turn } from './chat.turn.js';
import type { TurnOutcome, TurnServices } from './chat.turn.js';
import { RunningTurns } from './running-turns.js';
import { StepRepository } from './step/step.repository.js';
import type { StepOwner } from './step/step.repository.js';
import { historyLimits, turnLimits, TurnPlanner } from './turn.planner.js';
import { TurnRepository } from './turn.repository.js';
import type { BegunTurn } from './turn.repository.js';

/** The index that keeps one question for a key of a user. */
const UNIQUE_KEY = 'chat_message_idempotency';

/** One message to a model and its answer: checks, stores the question, streams and stores the answer. */
@Injectable()
export class ChatService {
  private readonly services: TurnServices;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    models: ModelResolver,
    private readonly planner: TurnPlanner,
    private readonly files: ChatFiles,
    private readonly turns: TurnRepository,
    private readonly steps: StepRepository,
    private readonly running: RunningTurns,
    private readonly streams: ChatStreams,
    private readonly answers: ChatAnswer,
    private readonly branches: ChatBranches,
  ) {
    this.services = {
      limits: turnLimits(config),
      current: (model) => models.current(model),
      planner,
      saveStep: (turn, step) => steps.save(stepOwner(turn), step),
    };
  }

  /** Answers as an event stream, errors included; resolves when the stream has ended and the turn is stored or kept. */
  async send(
    caller: Caller,
    body: SendBody,
    idempotencyKey: string | undefined,
    response: ServerResponse,
  ): Promise<void> {
    const writer = new SseWriter(response, this.config.CHAT_PING_SECONDS * 1_000);
    writer.start();
    try {
      await this.answer(caller, body, idempotencyKey, writer);
    } catch (error) {
      this.answers.refuse(writer, error);
    } finally {
      writer.end();
    }
  }

  /**
   * The place is reserved before the first await, and held until the answer is over, however it ends. Of requests with one
   * key at the same time the first is answered; the others get what a repetition of it gets.
   */
  private async answer(
    caller: Caller,
    body: SendBody,
    idempotencyKey: string | undefined,
    writer: SseWriter,
  ): Promise<void> {
    const place = this.streams.reserve(caller);
    try {
      await this.answerIn(place, body, idempotencyKey, writer);
    } catch (error) {
      if (idempotencyKey === undefined || !canBeLate(error)) throw error;
      if (!(await this.answers.replay(caller, idempotencyKey, hashOf(body), writer))) throw error;
    } finally {
      this.streams.release(place);
    }
  }

  private async answerIn(
    place: StreamPlace,
    sent: SendBody,
    idempotencyKey: string | undefined,
    writer: SseWriter,
  ): Promise<void> {
    const { caller } = place;
    const requestHash = idempotencyKey === undefined ? undefined : hashOf(sent);
    if (idempotencyKey !== undefined) {
      if (await this.answers.replay(caller, idempotencyKey, requestHash, writer)) return;
    }
    const placement = await this.branches.placementOf(caller, sent);
    const body = placement ? { ...sent, content: placement.content } : sent;
    const plan = await this.planner.plan(caller, body);
    const turn = new Turn(caller, body, plan, writer);
    turn.storedFiles = placement?.files ?? [];
    const fileIds = placement?.files?.map(({ id }) => id) ?? body.files;
    if (fileIds) turn.files = await this.files.check(caller, fileIds, plan.model);
    const outline = this.files.outline(body.content, turn.files);
    const alone = historyWindow([], { message: outline }, historyLimits(plan));
    const insert = (): Promise<BegunTurn | undefined> =>
      this.turns.begin(caller, {
        place: placement?.place,
        turnId: turn.id,
        sessionId: body.sessionId,
        content: body.content,
        modelName: plan.model.modelName,
        idempotencyKey,
        requestHash,
      });
    const begun = await (body.files ? this.files.begin(caller, turn.files, insert) : insert());
    if (begun === undefined) throw await this.refusal(caller, body);
    turn.questionId = begun.id;
    turn.asked = placement?.place.kind === 'answer' ? placement.place.questionId : begun.id;
    turn.before = begun.before;
    turn.settled = this.runTurn(turn, alone, place);
    await turn.settled;
  }

  /** Runs the turn; it always ends with an answer that is stored or kept. `alone` is the question without history. */
  private async runTurn(turn: Turn, alone: ChatMessage[], place: StreamPlace): Promise<void> {
    this.running.add(turn);
    place.onEnd((why) => turn.stop(why));
    let messages = alone;
    let outcome: TurnOutcome;
    try {
      messages = await this.messagesOf(turn, alone);
      outcome = await turn.run(messages, this.services);
    } catch (error) {
      outcome = turn.outcomeOf(error);
    }
    try {
      await this.answers.end(turn, messages, outcome);
    } finally {
      this.running.remove(turn);
    }
  }

  /** The messages for the model: prompt, history, and the question with retrieved fragments. */
  private async messagesOf(turn: Turn, alone: ChatMessage[]): Promise<ChatMessage[]> {
    const { caller, plan, body } = turn;
    const limits = historyLimits(plan);
    const found = await this.filesOf(turn, limits);
    const { history: stored, question: questionOf, bases, addedTokens } = found;
    if (found.failed.length > 0) this.nameFailed(turn, found.failed);
    if (stored.length === 0 && bases.length === 0 && turn.files.length === 0) return alone;
    const bare = this.files.outline(body.content, turn.files);
    const { messages, found: searched } = await this.planner.messages({
      caller,
      plan,
      history: stored,
      question: { text: body.content, messageOf: questionOf, bare, addedTokens },
      bases,
      signal: turn.signal,
    });
    if (searched === undefined) return messages;
    const { sources, fallback, incomplete, leftOut } = searched;
    turn.sources = sources;
    turn.toolSources = new TurnSources(sources);
    turn.write(sourcesFrame(sources, { fallback, incomplete, leftOut }));
    return messages;
  }

  /** Says which files of the question the answer goes on without. */
  private nameFailed(turn: Turn, failed: readonly ChatFile[]): void {
    const { caller, plan } = turn;
    turn.write(filesFrame(failed));
    // A client that reads only content; nothing is added to JSON, which its client parses.
    if (!caller.inline.failures || plan.generation.responseFormat !== undefined) return;
    const reasons = failed.flatMap(({ reason }) => (reason === undefined ? [] : localized(reason)));
    turn.write(contentFrame(`${reasons.join('\n\n')}\n\n`));
  }

  /** The history, the question and the knowledge bases to search, with what the files of the conversation add. */
  private async filesOf(turn: Turn, limits: HistoryLimits): Promise<TurnFiles> {
    const { caller, plan, body, files, storedFiles, asked, signal } = turn;
    const stored = await this.history(turn);
    if (!this.files.concern(files, stored)) {
      const { bases } = plan;
      return { failed: [], history: stored, question: questionOf, addedTokens: 0, bases };
    }
    const { sessionId, content } = body;
    const hasDocuments = files.some(({ kind }) => kind === 'document');
    const counter = hasDocuments ? await tokenCounter(plan.model.modelName) : estimatingCounter;
    const room = addableTokens({ message: this.files.outline(content, files) }, limits, counter);
    const fileTurn = {
      caller,
      files,
      questionId: asked,
      storedFiles,
      sessionId,
      model: plan.model,
      room,
      counter,
      signal,
    };
    const found = await this.files.ofTurn(fileTurn, stored);
    return { ...found, bases: [...plan.bases, ...found.bases] };
  }

  /** A runtime without tools gets the texts alone: not every service takes calls of tools in a request without tools. */
  private async history({ id, caller, body, plan, before }: Turn): Promise<StoredMessage[]> {
    if (body.sessionId === undefined) return [];
    const limit = this.config.CHAT_HISTORY_MESSAGES;
    const stored = await this.turns.history(caller, body.sessionId, { turnId: id, limit, before });
    if (!plan.runtime.usesTools) {
      return stored.map((message) => ({ ...message, providerState: null }));
    }
    const answers = stored.filter(({ role }) => role === 'assistant').map((answer) => answer.id);
    const steps = await this.steps.of(caller.tenantId, answers);
    return stored.map((message) => ({ ...message, steps: steps.get(message.id) }));
  }

  private async refusal(caller: Caller, { sessionId }: SendBody): Promise<Error> {
    if (sessionId === undefined || !(await this.turns.ownsSession(caller, sessionId))) {
      return new NotFoundError(phrase`The chat session`);
    }
    return new TurnInProgressError(await this.turns.leaseSeconds(caller, sessionId));
  }
}

function stepOwner(turn: Turn): StepOwner {
  const { id: turnId, questionId, text: content, reasoning, plan } = turn;
  const { tenantId } = turn.caller;
  const { modelName } = plan.model;
  return { tenantId, turnId, questionId, content, reasoning, modelName };
}

function questionOf(content: string): ChatMessage {
  return { role: 'user', content };
}

/** Of a turn that could not begin: another request with its key may have been first. */
function canBeLate(error: unknown): boolean {
  return error instanceof TurnInProgressError || isUniqueViolation(error, UNIQUE_KEY);
}

function hashOf(body: SendBody): string {
  const entries = Object.entries(body).sort(([a], [b]) => a.localeCompare(b));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
