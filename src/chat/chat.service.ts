import { createHash } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable } from '@nestjs/common';
import { OpenStreams } from '../access/index.js';
import type { Caller } from '../access/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { NotFoundError } from '../error/index.js';
import { SseWriter } from '../http/index.js';
import { ModelResolver } from '../model/index.js';
import type { ResolvedChatModel } from '../model/index.js';
import type { ChatMessage } from '../provider/index.js';
import { ChatAnswer } from './chat.answer.js';
import type { SendBody } from './chat.dto.js';
import { NotYetSupportedError, TooManyStreamsError, TurnInProgressError } from './chat.errors.js';
import { historyWindow } from './chat.history.js';
import { ChatReplay } from './chat.replay.js';
import { Turn } from './chat.turn.js';
import type { TurnLimits, TurnOutcome } from './chat.turn.js';
import { RunningTurns } from './running-turns.js';
import { TurnRepository } from './turn.repository.js';

export interface SendRequest {
  readonly body: SendBody;
  readonly idempotencyKey: string | undefined;
}

/** One message to a model and its answer: checks, stores the question, streams, stores the answer. */
@Injectable()
export class ChatService {
  private readonly limits: TurnLimits;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly models: ModelResolver,
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
    if (body.agentId !== undefined) throw new NotYetSupportedError('agentId');
    if (body.knowledgeId !== undefined) throw new NotYetSupportedError('knowledgeId');
    this.admit(caller);
    const requestHash = idempotencyKey === undefined ? undefined : hashOf(body);
    if (idempotencyKey !== undefined && requestHash !== undefined) {
      const sent = { key: idempotencyKey, requestHash };
      if (await this.replay.answered(caller, sent, writer)) return;
    }
    const model = await this.models.resolveChat(caller, body.model);
    const alone = historyWindow([], questionOf(body), historyLimits(model, body));
    const turn = new Turn(caller.tenantId, body.sessionId, writer);
    const begun = await this.turns.begin(caller, {
      turnId: turn.id,
      sessionId: body.sessionId,
      content: body.content,
      modelName: model.modelName,
      idempotencyKey,
      requestHash,
    });
    if (!begun) throw await this.refusal(caller, body);
    turn.settled = this.converse(caller, { turn, model, body, alone });
    await turn.settled;
  }

  /** The part of a turn that always ends with a stored answer. */
  private async converse(
    caller: Caller,
    what: { turn: Turn; model: ResolvedChatModel; body: SendBody; alone: ChatMessage[] },
  ): Promise<void> {
    const { turn, model, body } = what;
    this.running.add(turn);
    const release = this.streams.add(caller, (why) => turn.stop(why));
    let messages = what.alone;
    let outcome: TurnOutcome;
    try {
      messages = await this.withHistory(caller, what);
      outcome = await turn.run(model, messages, {
        generation: {
          thinking: body.enableThinking,
          temperature: body.temperature,
          topP: body.topP,
          maxTokens: body.maxTokens ?? model.maxOutput,
          stop: body.stop,
        },
        limits: this.limits,
      });
    } catch (error) {
      outcome = { state: 'failed', finishReason: 'error', error };
    }
    try {
      await this.answers.end(caller, { turn, model, messages, outcome });
    } finally {
      release();
      this.running.remove(turn);
    }
  }

  private async withHistory(
    caller: Caller,
    what: { turn: Turn; model: ResolvedChatModel; body: SendBody; alone: ChatMessage[] },
  ): Promise<ChatMessage[]> {
    const { turn, model, body, alone } = what;
    if (body.sessionId === undefined) return alone;
    const stored = await this.turns.history(caller, body.sessionId, {
      turnId: turn.id,
      limit: this.config.CHAT_HISTORY_MESSAGES,
    });
    return historyWindow(stored, questionOf(body), historyLimits(model, body));
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

function questionOf(body: SendBody): ChatMessage {
  return { role: 'user', content: body.content };
}

function historyLimits(
  model: ResolvedChatModel,
  body: SendBody,
): { contextWindow: number | undefined; maxAnswer: number | undefined } {
  return { contextWindow: model.contextWindow, maxAnswer: body.maxTokens ?? model.maxOutput };
}

function hashOf(body: SendBody): string {
  const entries = Object.entries(body).sort(([a], [b]) => a.localeCompare(b));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
