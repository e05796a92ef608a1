import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Caller, StreamPlace } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import { TurnSources } from '../../agent/index.js';
import type { TurnPart } from '../../agent/index.js';
import { TurnPlanner } from '../../chat/index.js';
import type { TurnQuestion } from '../../chat/index.js';
import { CHAT_LIMITS } from '../../model/index.js';
import type { CallTrail } from '../../model/index.js';
import { generationIn, NO_EFFORT } from '../../provider/index.js';
import type { ChatMessage, ContentPart, Generation } from '../../provider/index.js';
import { ParameterError, UnsupportedParameterError } from './api.errors.js';
import { RequestFiles } from './request-files.js';
import { noteIgnored } from './api.request.js';
import type { AnswerContext, ApiRequest, ParameterNames, ReadCall } from './api.request.js';
import type { IgnoredParameters } from './answer.js';

/** A running answer with its inputs, which grow with it. */
export interface RunningAnswer {
  readonly parts: AsyncIterable<readonly TurnPart[]>;
  readonly context: () => AnswerContext;
}

/**
 * Answers of agents to a conversation that the client keeps: prompt, knowledge and tools as in a chat turn. Nothing of it is
 * stored.
 */
@Injectable()
export class AgentAnswers {
  constructor(
    private readonly planner: TurnPlanner,
    private readonly files: RequestFiles,
  ) {}

  /** Throws ParameterError for parameters that the agent decides itself, and the errors of TurnPlanner. */
  async answer(
    caller: Caller,
    agentId: number,
    request: ApiRequest,
    answer: AgentCall,
  ): Promise<RunningAnswer> {
    const { signal, trail, ignored } = answer;
    const call = await this.files.read(caller, request.translate(ignored), signal);
    const { system, history, question, generation } = conversationOf(call, request.names, ignored);
    const { format, thinking } = call;
    const planned = await this.planner.plan(caller, {
      agentId,
      ...generation,
      ...(format && { responseFormat: format }),
      ...(thinking !== undefined && { enableThinking: thinking }),
    });
    answer.mayGoOn = (now) => this.planner.mayGoOn(now, planned);
    const prompt = [planned.systemPrompt ?? '', ...system].filter((text) => text !== '');
    const plan = { ...planned, systemPrompt: prompt.join('\n\n') || undefined };
    const { model, bases } = plan;
    noteIgnored(call, model, request.names, ignored);
    const { messages, augmentation } = await this.planner.messages({
      caller,
      plan,
      history,
      question,
      bases,
      signal,
    });
    const sources = new TurnSources(augmentation?.sources);
    const parts = this.planner.answer(plan, {
      caller,
      messages,
      sources,
      limits: CHAT_LIMITS,
      signal,
      // No person sees these turns, so a tool that asks is refused.
      effects: { turnId: randomUUID(), messageId: null, asks: false },
      passesUnfinished: true,
      ...(trail && { trail }),
    });
    return { parts, context: () => ({ messages, sources: sources.all }) };
  }
}

interface AgentCall {
  readonly signal: AbortSignal;
  readonly trail?: CallTrail;
  readonly ignored: IgnoredParameters;
  mayGoOn: StreamPlace['mayGoOn'];
}

interface Conversation {
  /** System messages of the client, added to the agent's prompt. */
  readonly system: readonly string[];
  readonly history: readonly {
    readonly role: string;
    readonly content: string | readonly ContentPart[];
  }[];
  readonly question: TurnQuestion;
  /** The parameters that agents take from a request; the others are noted as ignored. */
  readonly generation: Omit<Generation, 'thinking' | 'responseFormat'>;
}

function conversationOf(
  {
    messages,
    tools,
    toolChoice,
    seed,
    topK,
    frequencyPenalty,
    presencePenalty,
    effort,
    ...honoured
  }: ReadCall,
  names: ParameterNames,
  ignored: IgnoredParameters,
): Conversation {
  // An agent has tools of its own, and may call its model several times.
  if (tools?.length) throw new UnsupportedParameterError('tools');
  if (toolChoice !== undefined && toolChoice !== 'auto') {
    throw new UnsupportedParameterError('tool_choice');
  }
  if (seed !== undefined) ignored.add('seed');
  if (topK !== undefined) ignored.add('top_k');
  if (frequencyPenalty !== undefined) ignored.add('frequency_penalty');
  if (presencePenalty !== undefined) ignored.add('presence_penalty');
  if (effort !== undefined && effort !== NO_EFFORT) ignored.add(names.effort);
  const system: string[] = [];
  const history: { role: string; content: string | readonly ContentPart[] }[] = [];
  for (const [at, message] of messages.entries()) {
    if (message.role === 'tool' || (message.role === 'assistant' && message.toolCalls)) {
      throw new UnsupportedParameterError(names.message(at));
    }
    if (message.role === 'system') system.push(message.content);
    else history.push({ role: message.role, content: message.content });
  }
  const last = history.pop();
  if (last?.role !== 'user') {
    throw new ParameterError(names.messages, msg`The last message must be one of the user.`);
  }
  const { content } = last;
  const files = typeof content === 'string' ? [] : content.filter(({ type }) => type !== 'text');
  const messageOf = (text: string): ChatMessage => ({
    role: 'user',
    content: files.length === 0 ? text : [{ type: 'text', text }, ...files],
  });
  const text = textIn(content).toWellFormed();
  // The text is used in database searches, which accept no NUL.
  if (text.includes('\0')) {
    throw new ParameterError(names.messages, msg`The messages must not contain the character NUL.`);
  }
  return {
    system,
    history,
    question: { text, messageOf, bare: messageOf(text), addedTokens: 0 },
    generation: generationIn({ ...honoured, thinking: undefined }),
  };
}

function textIn(content: string | readonly ContentPart[]): string {
  if (typeof content === 'string') return content;
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('\n');
}
