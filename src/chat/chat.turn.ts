import { createHash, randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ACCESS_LOST } from '../platform/access/index.js';
import type { Caller, InlineContent, StreamPlace } from '../platform/access/index.js';
import { CONFIG } from '../platform/config/index.js';
import type { Config } from '../platform/config/index.js';
import { Database, isUniqueViolation, unavailableError } from '../platform/database/index.js';
import {
  DomainError,
  NotFoundError,
  setEnvelopeCode,
  unexpectedMessage,
} from '../platform/error/index.js';
import { currentRequest, localized, SseWriter } from '../platform/http/index.js';
import {
  ATTRIBUTE,
  currentTraceId,
  errorType,
  OPERATION,
  recordedText,
  recordsContent,
  traced,
} from '../platform/tracing/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { citationsIn, referenceOf, TurnSources } from '../agent/index.js';
import type { ResumedCalls, TurnEffects } from '../agent/index.js';
import { EffectRepository } from '../effect/index.js';
import { CHAT_LIMITS, estimatingCounter, tokenCounter } from '../model/index.js';
import type { ChatMessage } from '../provider/index.js';
import { AnswerStore } from './answer.store.js';
import { AnswerWriter, UNREAD } from './answer.writer.js';
import type { AnswerClient, TurnOutcome } from './answer.writer.js';
import { ChatBranches } from './branch/chat.branches.js';
import type { Placement } from './branch/chat.branches.js';
import type { SendBody } from './chat.dto.js';
import {
  DetachedWithoutSessionError,
  IdempotencyInProgressError,
  IdempotencyMismatchError,
  TurnInProgressError,
} from './chat.errors.js';
import {
  contentFrame,
  doneFrame,
  endFrames,
  errorFrames,
  filesFrame,
  inlineEnding,
  INTERRUPTED,
  reasoningFrame,
  sourcesFrame,
  toolApprovalFrame,
  toolCallFrame,
  toolResultFrame,
  usageFrame,
} from './chat.frames.js';
import type { EndedAnswer, ErrorDetails } from './chat.frames.js';
import { CHAT_PING, ChatStreams } from './chat.streams.js';
import { DetachedOutput } from './detach/detached-output.js';
import { TurnStreams } from './detach/turn-streams.js';
import { TurnDecisions, TurnNotWaitingError } from './decision/turn.decisions.js';
import type { DecisionsBody } from './decision/decision.dto.js';
import type { ChatFile } from './file/chat-file.js';
import { ChatFiles } from './file/chat-files.js';
import type { TurnFiles } from './file/chat-files.js';
import type { StoredRequest, StoredSource, StoredStep } from './message.entity.js';
import { RunningTurns } from './running-turns.js';
import type { RunningTurn } from './running-turns.js';
import { StepRepository } from './step.repository.js';
import {
  addableTokens,
  historyLimits,
  historyWindow,
  questionWith,
  TurnPlanner,
} from './turn.planner.js';
import type { TurnPlan } from './turn.planner.js';
import { TurnRepository } from './turn.repository.js';
import type { BegunTurn, StoredAnswer, StoredMessage, StoredTurn } from './turn.repository.js';
import { endedCall, stepMessages } from './turn.steps.js';

/** Maximum earlier messages sent to the model. */
const MAX_HISTORY_MESSAGES = 20;

/** Unique index of idempotency keys per user. */
const UNIQUE_KEY = 'chat_message_idempotency';

const NOT_STORED = msg`The answer could not be stored. Copy it if you need it.`;
const SIGNED_OUT = msg`Your sign-in has ended, so the answer stops here. Sign in again to continue.`;
const SHUTDOWN = msg`The service is restarting, so the answer stops here. Send the message again in a moment.`;

/** The Idempotency-Key of a request, with the hash of its body. */
interface RequestKey {
  readonly idempotencyKey: string;
  readonly requestHash: string;
}

/** A question that is stored, and how it is answered. */
interface Turn extends RunningTurn {
  readonly caller: Caller;
  readonly body: SendBody;
  readonly plan: TurnPlan;
  /** The files of the question. */
  readonly files: readonly ChatFile[];
  /** The question with placeholders for its images. */
  readonly outline: ChatMessage;
  readonly begunTurn: BegunTurn;
  /** Undefined for a question that continues the current branch. */
  readonly placement: Placement | undefined;
  /** Where the frames go of a turn that goes on without its client. */
  readonly detached: DetachedOutput | undefined;
  /** What the turn had done before it waited for its user. */
  readonly earlier?: EarlierPart | undefined;
}

/** The part of a turn before it waited. */
interface EarlierPart {
  readonly steps: readonly StoredStep[];
  readonly sources: readonly StoredSource[] | null;
}

/** One message to a model and its answer: plan, store the question, retrieve, call, stream, store the answer, done. */
@Injectable()
export class ChatTurn {
  private readonly logger = new Logger('Chat');

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly streams: ChatStreams,
    private readonly branches: ChatBranches,
    private readonly planner: TurnPlanner,
    private readonly files: ChatFiles,
    private readonly turns: TurnRepository,
    private readonly steps: StepRepository,
    private readonly running: RunningTurns,
    private readonly answers: AnswerStore,
    private readonly database: Database,
    private readonly decisions: TurnDecisions,
    private readonly turnStreams: TurnStreams,
    private readonly effects: EffectRepository,
  ) {}

  /** Answers as an event stream, errors included; resolves when the stream has ended and the turn is stored or kept. */
  async send(
    caller: Caller,
    body: SendBody,
    idempotencyKey: string | undefined,
    response: ServerResponse,
  ): Promise<void> {
    const key =
      idempotencyKey === undefined ? undefined : { idempotencyKey, requestHash: hashOf(body) };
    await this.stream(caller, response, (place, client) =>
      key ? this.runOnce(place, body, key, client) : this.run(place, body, undefined, client),
    );
  }

  /** Decides about the calls of a turn that wait, and answers its continuation as an event stream, as `send` does. */
  async resume(
    caller: Caller,
    turnId: string,
    body: DecisionsBody,
    response: ServerResponse,
  ): Promise<void> {
    await this.stream(caller, response, (place, client) => this.goOn(place, turnId, body, client));
  }

  /**
   * Answers a message without a client, once for each key; its user can follow the stream of the turn. Resolves with the stored answer
   * when the turn has ended; undefined where that is not known yet, because another process writes it or the database is away.
   * Throws what refuses the message.
   */
  async answerUnread(
    caller: Caller,
    message: SendBody,
    idempotencyKey: string,
  ): Promise<StoredAnswer | undefined> {
    const body = { ...message, detach: true };
    const key = { idempotencyKey, requestHash: hashOf(body) };
    try {
      await this.streams.inPlace(caller, (place) => this.runOnce(place, body, key, UNREAD));
    } catch (error) {
      if (error instanceof IdempotencyInProgressError) return undefined;
      throw error;
    }
    return (await this.turns.findByKey(caller, idempotencyKey))?.answer;
  }

  private async stream(
    caller: Caller,
    response: ServerResponse,
    work: (place: StreamPlace, client: AnswerClient) => Promise<void>,
  ): Promise<void> {
    const client = new SseWriter(response, CHAT_PING.intervalMs);
    client.start();
    try {
      await this.streams.inPlace(caller, (place) => work(place, client));
    } catch (error) {
      // The turn has not begun, so nothing is stored.
      const message = this.messageOf(error);
      const details = detailsOf(error);
      setEnvelopeCode(response, details.code);
      client.write(errorFrames(message, details));
    } finally {
      client.end();
    }
  }

  /** Answers the first of several concurrent requests with one key; the others replay its answer. */
  private async runOnce(
    place: StreamPlace,
    body: SendBody,
    key: RequestKey,
    client: AnswerClient,
  ): Promise<void> {
    if (await this.replay(place, body, key, client)) return;
    try {
      await this.run(place, body, key, client);
    } catch (error) {
      const mayBeSecond =
        error instanceof TurnInProgressError || isUniqueViolation(error, UNIQUE_KEY);
      if (!mayBeSecond || !(await this.replay(place, body, key, client))) throw error;
    }
  }

  private async run(
    place: StreamPlace,
    originalBody: SendBody,
    key: RequestKey | undefined,
    client: AnswerClient,
  ): Promise<void> {
    const { caller } = place;
    const detached = detachedOutput(originalBody, client);

    // Plan: the place of the question in its session, the model, the knowledge bases and the files.
    const placement = isPlaced(originalBody)
      ? await this.branches.placementOf(caller, originalBody)
      : undefined;
    const body = placement ? { ...originalBody, content: placement.content } : originalBody;
    const plan = await this.planner.plan(caller, body);
    const id = randomUUID();
    const answer = new AnswerWriter(detached ?? client, id);
    const fileIds = placement?.files?.map(({ id }) => id) ?? body.files;
    const files = fileIds ? await this.files.check(caller, fileIds, plan.model) : [];
    // Refuses a question that does not fit the model's window before it is stored.
    const outline = outlineOf(body, files);
    const questionAlone = historyWindow([], { message: outline }, historyLimits(plan));

    // Store the question, and in a session take its lease: one statement.
    const question = {
      ...key,
      place: placement?.place,
      turnId: id,
      sessionId: body.sessionId,
      content: body.content,
      modelName: plan.model.modelName,
    };
    const insert = (): Promise<BegunTurn | undefined> => this.turns.begin(caller, question);
    const begunTurn = await (body.files ? this.files.begin(caller, files, insert) : insert());
    if (begunTurn === undefined) throw await this.refusal(caller, body);
    const turn = { id, caller, body, plan, files, outline, placement, begunTurn, answer, detached };

    await this.answerIn(place, turn, questionAlone);
  }

  /** Stores the decisions, takes the session again, and lets the answer go on. */
  private async goOn(
    place: StreamPlace,
    turnId: string,
    { decisions, detach }: DecisionsBody,
    client: AnswerClient,
  ): Promise<void> {
    const { caller } = place;
    const waiting = await this.turns.waiting(caller, turnId);
    if (!waiting?.isLast) throw new TurnNotWaitingError();
    const { answerId, sessionId, questionId, before, question: content } = waiting;
    const body = {
      ...waiting.request,
      content,
      sessionId: sessionId ?? undefined,
      ...(detach && { detach }),
    } as SendBody;
    const detached = detachedOutput(body, client);
    const plan = await this.planner.plan(caller, body);
    const stored = waiting.files ?? [];
    const fileIds = stored.map(({ id }) => id);
    const files = fileIds.length > 0 ? await this.files.check(caller, fileIds, plan.model) : [];
    const outline = outlineOf(body, files);
    const questionAlone = historyWindow([], { message: outline }, historyLimits(plan));
    const steps = (await this.steps.of(caller.tenantId, [answerId])).get(answerId) ?? [];

    await this.database.transaction(async () => {
      await this.decisions.decide(caller, { turnId, sessionId }, decisions);
      if (!(await this.turns.resume(caller, turnId, sessionId))) throw new TurnInProgressError();
    });

    const answer = new AnswerWriter(detached ?? client, turnId);
    answer.restore({ text: waiting.content, reasoning: waiting.reasoning ?? '', steps });
    const begunTurn = { id: questionId, before: waiting.branched ? before : undefined };
    const answerPlace = { kind: 'answer', questionId, parentId: before } as const;
    const placement = { place: answerPlace, content, files: stored };
    const earlier = { steps, sources: waiting.sources };
    const turn = {
      id: turnId,
      caller,
      body,
      plan,
      files,
      outline,
      placement,
      begunTurn,
      answer,
      detached,
      earlier,
    };
    await this.answerIn(place, turn, questionAlone);
  }

  /** From here on the turn ends with an answer that is stored, or kept until the database is back. */
  private async answerIn(
    place: StreamPlace,
    turn: Turn,
    questionAlone: ChatMessage[],
  ): Promise<void> {
    const { answer, plan } = turn;
    place.onEnd((reason) => answer.stop(reason));
    place.mayGoOn = (now) => this.planner.mayGoOn(now, plan);
    await this.running.during(turn, () =>
      this.traced(turn, () => this.answer(turn, questionAlone)),
    );
  }

  /** Runs the turn in its span. */
  private async traced(
    { id, caller, body, plan, answer }: Turn,
    work: () => Promise<TurnOutcome>,
  ): Promise<void> {
    const { agentId, model } = plan;
    const operation = agentId === undefined ? OPERATION.invokeWorkflow : OPERATION.invokeAgent;
    const attributes = () => ({
      [ATTRIBUTE.operation]: operation,
      [ATTRIBUTE.agentName]: agentId === undefined ? 'chat' : undefined,
      [ATTRIBUTE.agentId]: agentId === undefined ? undefined : String(agentId),
      [ATTRIBUTE.conversationId]: body.sessionId === undefined ? undefined : String(body.sessionId),
      [ATTRIBUTE.requestModel]: model.modelName,
      [ATTRIBUTE.turnId]: id,
      [ATTRIBUTE.tenantId]: caller.tenantId,
      [ATTRIBUTE.userId]: String(caller.userId),
    });
    const name = agentId === undefined ? `${operation} chat` : operation;
    await traced(name, { attributes }, async (span) => {
      const { state, finishReason, error } = await work();
      span?.set({ [ATTRIBUTE.finishReasons]: [finishReason] });
      if (recordsContent(span, caller.tenantId)) {
        span.set({
          [ATTRIBUTE.inputMessages]: recordedText('user', body.content),
          [ATTRIBUTE.outputMessages]: recordedText('assistant', answer.text),
        });
      }
      if (state === 'failed') span?.end(errorType(error));
    });
  }

  /** Answers the question and stores the answer. */
  private async answer(turn: Turn, questionAlone: ChatMessage[]): Promise<TurnOutcome> {
    const { id, caller, plan, files, answer, earlier, detached, begunTurn } = turn;
    let messages = questionAlone;
    let outcome: TurnOutcome;
    try {
      if (detached) {
        const frames = earlier
          ? partFrames(id, { ...earlier, text: answer.text, reasoning: answer.reasoning })
          : '';
        const messageId = begunTurn.id;
        await this.turnStreams.begin(detached, { id, caller, messageId, earlier: frames });
      }
      // Retrieve: history, files and fragments for the question.
      messages = (await this.messagesOf(turn)) ?? questionAlone;

      // Call the model and stream its answer.
      const { signal, trail } = answer;
      // Tools add to the sources of the question; other runtimes do not read them.
      const sources = plan.runtime.usesTools ? sourcesOf(answer, earlier) : undefined;
      const isResolvedNow = plan.bases.length === 0 && files.length === 0;
      const call = {
        caller,
        messages: [...messages, ...(earlier?.steps.flatMap(stepMessages) ?? [])],
        effects: effectsOf(turn),
        resumed: earlier && resumedCalls(earlier.steps),
        sources,
        limits: CHAT_LIMITS,
        signal,
        trail,
        isResolvedNow,
      };
      const saveStep = (step: StoredStep): Promise<void> => this.saveStep(turn, step);
      outcome = await answer.read(this.planner.answer(plan, call), { saveStep, sources });
    } catch (error) {
      outcome = answer.outcomeOf(error);
    }
    await this.finish(turn, messages, outcome);
    return outcome;
  }

  /**
   * The messages for the model: prompt, history, and the question with files and retrieved fragments. Undefined where they are
   * the question alone.
   */
  private async messagesOf(turn: Turn): Promise<ChatMessage[] | undefined> {
    const { caller, plan, body, files, answer } = turn;
    const stored = await this.historyOf(turn);
    // Files of the question or of the conversation, among them documents that the session's knowledge base has.
    const hasFiles =
      files.length > 0 || stored.some((message) => message.files || message.hasSessionBase);
    const read = hasFiles ? await this.readFiles(turn, stored) : undefined;
    const bases = [...plan.bases, ...(read?.bases ?? [])];
    if (stored.length === 0 && bases.length === 0 && files.length === 0) return undefined;
    const { messages, augmentation } = await this.planner.messages({
      caller,
      plan,
      history: read?.history ?? stored,
      question: {
        text: body.content,
        messageOf: read?.question ?? questionWith,
        bare: turn.outline,
        addedTokens: read?.addedTokens ?? 0,
      },
      bases,
      signal: answer.signal,
    });
    if (augmentation) answer.writeSources(augmentation.sources, augmentation);
    return messages;
  }

  /** A runtime without tools gets only texts, because some services refuse tool calls in a request without tools. */
  private async historyOf({ id, caller, body, plan, begunTurn }: Turn): Promise<StoredMessage[]> {
    if (body.sessionId === undefined) return [];
    const stored = await this.turns.history(caller, body.sessionId, {
      turnId: id,
      limit: MAX_HISTORY_MESSAGES,
      before: begunTurn.before,
    });
    if (!plan.runtime.usesTools) {
      return stored.map((message) => ({ ...message, providerState: null }));
    }
    const answerIds = stored
      .filter(({ role }) => role === 'assistant')
      .map((message) => message.id);
    const steps = await this.steps.of(caller.tenantId, answerIds);
    return stored.map((message) => ({ ...message, steps: steps.get(message.id) }));
  }

  /** Reads the files, and tells the client which of them the answer goes on without. */
  private async readFiles(turn: Turn, stored: readonly StoredMessage[]): Promise<TurnFiles> {
    const { caller, plan, body, files, placement, begunTurn, answer } = turn;
    const hasDocuments = files.some(({ kind }) => kind === 'document');
    const counter = hasDocuments ? await tokenCounter(plan.model.modelName) : estimatingCounter;
    const read = await this.files.ofTurn(
      {
        caller,
        files,
        questionId: placement?.place.kind === 'answer' ? placement.place.questionId : begunTurn.id,
        storedFiles: placement?.files ?? [],
        sessionId: body.sessionId,
        model: plan.model,
        room: addableTokens({ message: turn.outline }, historyLimits(plan), counter),
        counter,
        signal: answer.signal,
      },
      stored,
    );
    if (read.failed.length === 0) return read;
    answer.write(filesFrame(read.failed));
    // For clients that read only content. Nothing is appended to JSON.
    if (caller.inline.failures && plan.generation.responseFormat === undefined) {
      const reasons = read.failed.flatMap(({ reason }) => (reason ? [localized(reason)] : []));
      answer.write(contentFrame(`${reasons.join('\n\n')}\n\n`));
    }
    return read;
  }

  private async saveStep(
    { id, caller, plan, begunTurn, answer }: Turn,
    step: StoredStep,
  ): Promise<void> {
    const { tenantId } = caller;
    const { text: content, reasoning } = answer;
    const { modelName } = plan.model;
    const owner = { tenantId, turnId: id, questionId: begunTurn.id, content, reasoning, modelName };
    await this.steps.save(owner, step);
  }

  /** Stores the answer, then ends the stream: `done` means stored, or kept. `messages` were sent to the model. */
  private async finish(
    turn: Turn,
    messages: readonly ChatMessage[],
    outcome: TurnOutcome,
  ): Promise<void> {
    const { caller, plan, body, answer, detached } = turn;
    const { tenantId, userId, inline } = caller;
    const { state, finishReason } = outcome;
    const traceId = currentTraceId();
    const error = state === 'failed' ? this.messageOf(outcome.error) : undefined;
    const usage = answer.usageFor(messages);
    const citations = answer.sources && citationsIn(answer.text, answer.sources.length);
    const sources = answer.sources?.map((source) => ({
      ...referenceOf(source),
      cited: citations?.cited.includes(source.number) ?? false,
    }));
    const isWaiting = state === 'waiting';
    // Where the store is away, the sweep or the reader of the call finds that it did not end.
    if (answer.hasEffects && !isWaiting) await this.endCalls(turn);
    await detached?.seal();
    const structured = state === 'complete' && plan.generation.responseFormat !== undefined;
    const result = await this.answers.store(
      { tenantId, userId },
      {
        turnId: turn.id,
        questionId: turn.begunTurn.id,
        sessionId: body.sessionId,
        content: answer.text,
        reasoning: answer.reasoning,
        modelName: answer.trail.modelName ?? plan.model.modelName,
        agentId: body.agentId,
        state,
        finishReason,
        error,
        usage,
        firstTokenMs: answer.firstTokenMs,
        ...(isWaiting ? { request: requestOf(body) } : { durationMs: answer.durationMs }),
        sources,
        structured,
        providerState: answer.providerState,
        traceId,
        ...(answer.hasSteps && { steps: answer.unsavedSteps }),
      },
    );
    await detached?.ended();
    if (result === 'refused') answer.write(errorFrames(NOT_STORED));
    else if (error !== undefined) {
      const details = detailsOf(outcome.error);
      answer.write(errorFrames(error, details), details.code);
    } else if (answer.stopReason === 'signed-out') answer.write(errorFrames(SIGNED_OUT));
    else if (answer.stopReason === 'access-lost') answer.write(errorFrames(ACCESS_LOST));
    else if (answer.stopReason === 'shutdown') answer.write(errorFrames(SHUTDOWN));
    else {
      const ended = { content: answer.text, state, finishReason, sources, structured };
      const attempts = answer.trail.isEventful ? answer.trail.attempts : undefined;
      const isKept = result === 'kept';
      answer.write(
        endingFrame(ended, inline) +
          usageFrame(usage, attempts) +
          doneFrame(finishReason, { citations, isKept, structured, traceId }),
      );
    }
  }

  private async endCalls({ id: turnId, caller }: Turn): Promise<void> {
    try {
      await this.effects.endTurn(caller.tenantId, turnId);
    } catch (error) {
      this.logger.error({ msg: 'Failed to end the tool calls of a turn', turnId, err: error });
    }
  }

  /**
   * Writes the stored turn of a repeated key instead of calling the model again; false for a new key. A detached one is read
   * from its beginning. Throws when the key belongs to another message or a running turn.
   */
  private async replay(
    place: StreamPlace,
    { detach }: SendBody,
    { idempotencyKey, requestHash }: RequestKey,
    client: AnswerClient,
  ): Promise<boolean> {
    const { caller } = place;
    const turn = await this.turns.findByKey(caller, idempotencyKey);
    if (!turn) return false;
    if (turn.requestHash !== requestHash) throw new IdempotencyMismatchError();
    if (detach && (await this.turnStreams.isKept(caller, turn.turnId))) {
      await this.turnStreams.follow(place, turn.turnId, -1, client);
    } else if (turn.answer) {
      const { id } = turn.answer;
      const steps = (await this.steps.of(caller.tenantId, [id])).get(id) ?? [];
      client.write(storedFrames(turn, turn.answer, { steps, inline: caller.inline }));
    } else if (this.isLost(turn)) client.write(errorFrames(INTERRUPTED));
    else throw new IdempotencyInProgressError();
    return true;
  }

  /** True when no process can be writing the answer any more. */
  private isLost(turn: StoredTurn): boolean {
    if (this.running.has(turn.turnId)) return false;
    return this.config.embedded || turn.ageSeconds * 1_000 > CHAT_LIMITS.totalMs;
  }

  private async refusal(caller: Caller, { sessionId }: SendBody): Promise<Error> {
    if (sessionId === undefined || !(await this.turns.ownsSession(caller, sessionId))) {
      return new NotFoundError(msg`The chat session`);
    }
    return new TurnInProgressError(await this.turns.leaseSeconds(caller, sessionId));
  }

  /** The message of a failure for clients and the stored answer; an unexpected one is only logged. */
  private messageOf(error: unknown): Message {
    const domainError = unavailableError(error) ?? error;
    if (domainError instanceof DomainError) return domainError.userMessage;
    this.logger.error({ msg: 'Unhandled error in a chat turn', err: error });
    return unexpectedMessage(currentRequest()?.id);
  }
}

/** Whether the message does not continue the current branch of its session. */
function isPlaced({ regenerate, editOf, parentId }: SendBody): boolean {
  return regenerate !== undefined || editOf !== undefined || parentId !== undefined;
}

/** The question with placeholders for its images, by which the window is checked before any file is read. */
function outlineOf({ content }: SendBody, files: readonly ChatFile[]): ChatMessage {
  const images = files.filter(({ kind, state }) => kind === 'image' && state !== 'failed');
  return questionWith(
    content,
    images.map(({ type }) => ({ type: 'image', mimeType: type, data: '' })),
  );
}

function detailsOf(error: unknown): ErrorDetails {
  const domainError = error instanceof DomainError ? error : unavailableError(error);
  return { code: domainError?.code ?? 500, data: domainError?.data ?? null };
}

function endingFrame(answer: EndedAnswer, inline: InlineContent): string {
  const ending = inlineEnding(answer, inline);
  return ending === '' ? '' : contentFrame(ending);
}

/** The frames of a stored answer. */
function storedFrames(
  { turnId }: StoredTurn,
  answer: StoredAnswer,
  { steps, inline }: { readonly steps: readonly StoredStep[]; readonly inline: InlineContent },
): string {
  const { content: text, reasoning, sources } = answer;
  return (
    partFrames(turnId, { text, reasoning, sources, steps }) +
    endingFrame(answer, inline) +
    endFrames(answer)
  );
}

/** The frames of what an answer has so far. */
function partFrames(
  turnId: string,
  {
    text,
    reasoning,
    sources,
    steps,
  }: EarlierPart & Pick<StoredAnswer, 'reasoning'> & { text: string },
): string {
  const calls = steps.flatMap((step) => step.calls.map(endedCall));
  return (
    calls
      .map((call) =>
        call.state === 'waiting'
          ? toolCallFrame(call) + toolApprovalFrame(turnId, call)
          : toolCallFrame(call) + toolResultFrame(call),
      )
      .join('') +
    (sources ? sourcesFrame(sources) : '') +
    (reasoning ? reasoningFrame(reasoning) : '') +
    (text === '' ? '' : contentFrame(text))
  );
}

/** Where the frames go of a turn that goes on without its client; undefined for any other. */
function detachedOutput(
  { detach, sessionId }: SendBody,
  client: AnswerClient,
): DetachedOutput | undefined {
  if (detach !== true) return undefined;
  if (sessionId === undefined) throw new DetachedWithoutSessionError();
  return new DetachedOutput(client);
}

/** What calls of the turn are recorded with. No person is asked about calls of a program. */
function effectsOf({ id: turnId, caller, body, begunTurn }: Turn): TurnEffects {
  const asks = caller.apiKey === undefined;
  return { turnId, messageId: begunTurn.id, chatSessionId: body.sessionId, asks };
}

/** The calls of the last step that waited. */
function resumedCalls(steps: readonly StoredStep[]): ResumedCalls {
  const calls = (steps.at(-1)?.calls ?? []).filter(({ state }) => state === 'waiting');
  const callCount = steps.reduce((sum, step) => sum + step.calls.length, 0);
  return { calls, stepCount: steps.length, callCount };
}

/** The sources of the turn, numbered on from those that it had before it waited. */
function sourcesOf(answer: AnswerWriter, earlier: EarlierPart | undefined): TurnSources {
  const earlierSources = (earlier?.sources ?? []).map((source) => ({ ...source, content: '' }));
  const sources = answer.sources ?? [];
  const added = earlierSources.slice(sources.length);
  if (added.length > 0) answer.sources = [...sources, ...added];
  return new TurnSources(answer.sources);
}

/** The fields of a request with which its turn goes on. */
function requestOf(body: SendBody): StoredRequest {
  const { content: _, sessionId: __, files: ___, inline: ____, ...request } = body;
  return { ...request, regenerate: undefined, editOf: undefined, parentId: undefined };
}

/** Without detach: a repeated message may be read in another way. */
function hashOf({ detach: _, ...body }: SendBody): string {
  const entries = Object.entries(body).sort(([a], [b]) => a.localeCompare(b));
  return createHash('sha256').update(JSON.stringify(entries)).digest('hex');
}
