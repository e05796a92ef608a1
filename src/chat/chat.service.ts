import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { OpenStreams } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { NotFoundError } from '../platform/error/index.js';
import { SseWriter } from '../platform/http/index.js';
import type { ChatMessage } from '../provider/index.js';
import { ChatAugmentation } from './augmentation/chat.augmentation.js';
import { ChatAnswer } from './chat.answer.js';
import type { SendBody } from './chat.dto.js';
import { TooManyStreamsError, TurnInProgressError } from './chat.errors.js';
import { sourcesFrame } from './chat.frames.js';
import { historyWindow, sourceCharacters } from './chat.history.js';
import type { HistoryLimits, StoredMessage } from './chat.history.js';
import { ChatPlanner } from './chat.plan.js';
import type { TurnPlan } from './chat.plan.js';
import { ChatReplay } from './chat.replay.js';
import { Turn } from './chat.turn.js';
import type { TurnLimits, TurnOutcome } from './chat.turn.js';
import { RunningTurns } from './running-turns.js';
import { TurnRepository } from './turn.repository.js';

export interface SendRequest {
  readonly body: SendBody;
  readonly idempotencyKey: string | undefined;
}

/** A turn that has begun, with its plan. */
interface Conversation {
  readonly turn: Turn;
  readonly plan: TurnPlan;
  readonly body: SendBody;
  /** The question without history. */
  readonly alone: ChatMessage[];
}

/** One message to a model and its answer: checks, stores the question, streams and stores the answer. */
@Injectable()
export class ChatService {
  private readonly limits: TurnLimits;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly planner: ChatPlanner,
    private readonly augmentation: ChatAugmentation,
    private readonly turns: TurnRepository,
    private readonly running: RunningTurns,
    private readonly streams: OpenStreams,
    private readonly answers: ChatAnswer,
    private readonly replay: ChatReplay,
  ) {
    this.limits = {
      connectMs: config.CHAT_CONNECT_TIMEOUT_SECONDS * 1_000,
      idleMs: config.CHAT_IDLE_TIMEOUT_SECONDS * 1_000,
      totalMs: config.CHAT_STREAM_TIMEOUT_SECONDS * 1_000,
      attempts: config.CHAT_ATTEMPTS,
    };
  }

  /** Answers as an event stream, errors included; resolves when the stream has ended and the turn is stored. */
  async send(caller: Caller, request: SendRequest, response: ServerResponse): Promise<void> {
    const writer = new SseWriter(response, this.config.CHAT_PING_SECONDS * 1_000);
    writer.start();
    try {
      await this.answer(caller, request, writer);
    } catch (error) {
      this.answers.refuse(writer, error);
    } finally {
      writer.end();
    }
  }

  private async answer(caller: Caller, request: SendRequest, writer: SseWriter): Promise<void> {
    const { body, idempotencyKey } = request;
    this.admit(caller);
    const requestHash = idempotencyKey === undefined ? undefined : hashOf(body);
    if (idempotencyKey !== undefined && requestHash !== undefined) {
      const sent = { key: idempotencyKey, requestHash };
      if (await this.replay.answered(caller, sent, writer)) return;
    }
    const plan = await this.planner.plan(caller, body);
    const alone = historyWindow([], questionOf(body.content), historyLimits(plan));
    const turn = new Turn(caller.tenantId, body.sessionId, writer);
    const begun = await this.turns.begin(caller, {
      turnId: turn.id,
      sessionId: body.sessionId,
      content: body.content,
      modelName: plan.model.modelName,
      idempotencyKey,
      requestHash,
    });
    if (!begun) throw await this.refusal(caller, body);
    turn.settled = this.runTurn(caller, { turn, plan, body, alone });
    await turn.settled;
  }

  /** Runs the turn; it always ends with a stored answer. */
  private async runTurn(caller: Caller, what: Conversation): Promise<void> {
    const { turn, plan } = what;
    const { model, generation } = plan;
    this.running.add(turn);
    const release = this.streams.add(caller, (why) => turn.stop(why));
    let messages = what.alone;
    let outcome: TurnOutcome;
    try {
      messages = await this.messagesOf(caller, what);
      outcome = await turn.run(model, messages, { generation, limits: this.limits });
    } catch (error) {
      outcome = turn.outcomeOf(error);
    }
    try {
      await this.answers.end(caller, { turn, model, messages, outcome });
    } finally {
      release();
      this.running.remove(turn);
    }
  }

  /** The messages for the model: prompt, history, and the question with retrieved fragments. */
  private async messagesOf(
    caller: Caller,
    { turn, plan, body, alone }: Conversation,
  ): Promise<ChatMessage[]> {
    const stored =
      body.sessionId === undefined ? [] : await this.history(caller, turn, body.sessionId);
    if (stored.length === 0 && plan.bases.length === 0) return alone;
    const limits = historyLimits(plan);
    const question = questionOf(body.content);
    if (plan.bases.length === 0) return historyWindow(stored, question, limits);
    const { sources, fallback, ...augmented } = await this.augmentation.augment(caller, {
      question: body.content,
      bases: plan.bases,
      history: historyWindow(stored, question, { ...limits, systemPrompt: undefined }).slice(0, -1),
      model: plan.model,
      room: sourceCharacters(question, limits),
      signal: turn.signal,
    });
    turn.sources = sources;
    turn.write(sourcesFrame(sources, fallback));
    return historyWindow(stored, questionOf(augmented.question), limits);
  }

  private history(caller: Caller, turn: Turn, sessionId: number): Promise<StoredMessage[]> {
    const limit = this.config.CHAT_HISTORY_MESSAGES;
    return this.turns.history(caller, sessionId, { turnId: turn.id, limit });
  }

  private admit(caller: Caller): void {
    const { CHAT_STREAMS, CHAT_STREAMS_PER_USER } = this.config;
    if (this.running.size >= CHAT_STREAMS) throw new TooManyStreamsError();
    if (this.streams.countOf(caller) >= CHAT_STREAMS_PER_USER) throw new TooManyStreamsError();
  }

  private async refusal(caller: Caller, body: SendBody): Promise<Error> {
    const known =
      body.sessionId !== undefined && (await this.turns.ownsSession(caller, body.sessionId));
    return known ? new TurnInProgressError() : new NotFoundError('The chat session');
  }
}

function questionOf(content: string): ChatMessage {
  return { role: 'user', content };
}

function historyLimits({ model, generation, systemPrompt }: TurnPlan): HistoryLimits {
  return { contextWindow: model.contextWindow, maxAnswer: generation.maxTokens, systemPrompt };
}

function hashOf(body: SendBody): string {
  const entries = Object.entries(body).sort(([a], [b]) => a.localeCompare(b));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
