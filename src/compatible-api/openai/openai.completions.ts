import { randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import type { Response } from 'express';
import { z } from 'zod';
import type { Caller } from '../../platform/access/index.js';
import { msg } from '../../platform/message/index.js';
import { turnUsage } from '../../chat/index.js';
import { CHAT_LIMITS, ModelResolver, textsOfTokens, UpstreamCalls } from '../../model/index.js';
import type { ResolvedChatModel } from '../../model/index.js';
import { generationIn } from '../../provider/index.js';
import type {
  ChatCall,
  ChatMessage,
  ChatPart,
  FinishReason,
  RequestedGeneration,
  Usage,
} from '../../provider/index.js';
import { IgnoredParameters } from '../answer/answer.js';
import type { Answer, StreamableRequest } from '../answer/answer.js';
import { agentIdIn, modelName, parameters, plainText } from '../answer/parameters.js';
import { ApiAnswers } from '../answer/api-answers.js';
import { ParameterError, UnfinishedAnswerError, UnknownModelError } from '../answer/api.errors.js';
import { noteLacking } from '../answer/api.request.js';
import { TEXT_HINTS, withoutHints } from '../answer/hints.js';
import { dataEvent, DONE_EVENT, openAiFailureEvent } from './openai.errors.js';

const MAX_PROMPTS = 20;
const MAX_PROMPT_CHARS = 1_000_000;
const MAX_PROMPT_TOKENS = 200_000;
/** OpenAI's default. */
const USUAL_MAX_TOKENS = 16;

const promptText = plainText(MAX_PROMPT_CHARS);
const promptTokens = z.array(z.number().int().min(0)).min(1).max(MAX_PROMPT_TOKENS);

const completionRequest = z.strictObject({
  model: modelName,
  prompt: z.union([
    promptText.transform((one) => [one]),
    promptTokens.transform((one) => [one]),
    z.array(promptText).min(1).max(MAX_PROMPTS),
    z.array(promptTokens).min(1).max(MAX_PROMPTS),
  ]),
  suffix: z.string().max(MAX_PROMPT_CHARS).optional(),
  max_tokens: z.number().int().min(1).max(1_000_000).default(USUAL_MAX_TOKENS),
  temperature: z.number().min(0).max(2).optional(),
  top_p: z.number().min(0).max(1).optional(),
  stop: z.union([z.string(), z.array(z.string().max(1_000)).max(16)]).optional(),
  seed: z.number().int().optional(),
  n: z.literal(1).optional(),
  echo: z.boolean().default(false),
  stream: z.boolean().default(false),
  stream_options: z.looseObject({ include_usage: z.boolean().nullish() }).optional(),
});

type CompletionRequest = z.output<typeof completionRequest>;

interface ReadCompletion {
  readonly streamable: StreamableRequest;
  readonly write: (answer: Answer<StreamableRequest>) => Promise<void>;
}

const FILL = `You complete text for an editor (fill-in-the-middle). The user sends what stands before the cursor as <prefix> and what stands after it as <suffix>. Answer with exactly the text that belongs between them: without the prefix, without the suffix, without explanation and without code fences.`;

/** POST /v1/completions: continues a text, natively or through a chat model. */
@Injectable()
export class OpenAiCompletions {
  constructor(
    private readonly models: ModelResolver,
    private readonly calls: UpstreamCalls,
    private readonly answers: ApiAnswers,
  ) {}

  /** One choice per prompt, generated in sequence. Fails like a model call, and with ParameterError. */
  async answer(caller: Caller, body: unknown, response: Response): Promise<void> {
    const { streamable, write } = await this.read(caller, body);
    await this.answers.respond(caller, streamable, response, write);
  }

  /** A request with the writer of its answer. */
  async read(caller: Caller, body: unknown): Promise<ReadCompletion> {
    const ignored = IgnoredParameters.of(caller);
    const request = parameters(completionRequest, withoutHints(body, TEXT_HINTS, ignored));
    const { model: name, stream, echo } = request;
    // Agents only answer conversations.
    if (agentIdIn(name) !== undefined) throw new UnknownModelError(name);
    const model = await this.models.resolveChat(caller, name);
    const prompts = await textsOf(request.prompt);
    const { attempts, ...limits } = CHAT_LIMITS;
    const streamable = { stream, ignored, failureEvent: openAiFailureEvent };
    const write: ReadCompletion['write'] = async (answer) => {
      const { signal, trail } = answer;
      answer.mayGoOn = (now) => this.models.mayUse(now, model.id);
      const use = { caller, feature: 'chat', trail } as const;
      const writer = new TextCompletionWriter(request);
      for (const prompt of prompts) {
        const call = callOf(request, prompt);
        const options = { use, limits, signal, attempts, isResolved: prompt === prompts[0] };
        const begin = writer.begin(call.messages, echo ? prompt : '');
        if (stream && begin !== '') await answer.write(begin);
        const callFor = (called: ResolvedChatModel): typeof call => {
          ignored.beginModel(called);
          noteLacking(call, called, ignored);
          return call;
        };
        for await (const parts of this.calls.stream(model, callFor, options)) {
          const events = writer.add(parts);
          if (stream && events !== '') await answer.write(events);
        }
        const end = writer.end();
        if (stream) await answer.write(end);
      }
      if (stream) {
        await answer.write(writer.last());
        answer.finish();
      } else answer.send(JSON.stringify(writer.whole()));
    };
    return { streamable, write };
  }
}

async function textsOf(prompts: CompletionRequest['prompt']): Promise<readonly string[]> {
  const lists = prompts.filter((one) => typeof one !== 'string');
  if (lists.length === 0) return prompts.filter((one) => typeof one === 'string');
  return (await textsOfTokens(lists)).map((text, at) => {
    if (text !== undefined) return text;
    throw new ParameterError(
      'prompt',
      msg`The token ids at position ${at} are not all of the vocabulary cl100k_base. Send text, or make the ids with cl100k_base.`,
    );
  });
}

function callOf(request: CompletionRequest, prompt: string): Omit<ChatCall, 'model'> {
  const { suffix, stop } = request;
  const fills = suffix !== undefined && suffix !== '';
  const content = fills ? `<prefix>${prompt}</prefix>\n<suffix>${suffix}</suffix>` : prompt;
  return {
    messages: [
      ...(fills ? [{ role: 'system', content: FILL } as const] : []),
      { role: 'user', content },
    ],
    completion: { prompt, ...(fills && { suffix }) },
    ...generationIn({
      temperature: request.temperature,
      topP: request.top_p,
      maxTokens: request.max_tokens,
      stop: typeof stop === 'string' ? [stop] : stop,
      seed: request.seed,
      topK: undefined,
      frequencyPenalty: undefined,
      presencePenalty: undefined,
    } satisfies RequestedGeneration),
    omittedCalls: 'cut',
  };
}

const FINISH_REASONS: Readonly<Record<FinishReason, string>> = {
  stop: 'stop',
  length: 'length',
  'tool-calls': 'stop',
  'content-filter': 'content_filter',
  error: 'stop',
  other: 'stop',
};

/** Writes one answer in the protocol, choice by choice. */
class TextCompletionWriter {
  private readonly base: object;
  private readonly choices: object[] = [];
  private input = 0;
  private output = 0;
  private text = '';
  private finish: FinishReason = 'stop';
  private usage: Usage | undefined;
  private messages: readonly ChatMessage[] = [];
  private echoed = '';

  constructor(private readonly request: CompletionRequest) {
    const created = Math.floor(Date.now() / 1_000);
    const { model } = request;
    this.base = { id: `cmpl-${randomUUID()}`, object: 'text_completion', created, model };
  }

  begin(messages: readonly ChatMessage[], echoed: string): string {
    Object.assign(this, { text: '', finish: 'stop', usage: undefined, messages, echoed });
    return echoed === '' ? '' : this.chunk(echoed, null);
  }

  add(parts: readonly ChatPart[]): string {
    let events = '';
    for (const part of parts) {
      if (part.type === 'text-delta') {
        this.text += part.text;
        events += this.chunk(part.text, null);
      } else if (part.type === 'usage') this.usage = part.usage;
      else if (part.type === 'finish') this.finish = part.reason;
    }
    return events;
  }

  /** Ends the choice. Throws if the answer is incomplete. */
  end(): string {
    if (this.finish === 'error') throw new UnfinishedAnswerError();
    const { text, echoed } = this;
    const { inputTokens, outputTokens } = turnUsage(this.usage, this.messages, text);
    this.input += inputTokens;
    this.output += outputTokens;
    const last = this.chunk('', FINISH_REASONS[this.finish]);
    this.choices.push(this.choice(echoed + text, FINISH_REASONS[this.finish]));
    return last;
  }

  last(): string {
    const withUsage = this.request.stream_options?.include_usage === true;
    return (
      (withUsage ? dataEvent({ ...this.base, choices: [], usage: this.wireUsage() }) : '') +
      DONE_EVENT
    );
  }

  whole(): object {
    return { ...this.base, choices: this.choices, usage: this.wireUsage() };
  }

  private chunk(text: string, finish: string | null): string {
    return dataEvent({ ...this.base, choices: [this.choice(text, finish)] });
  }

  private choice(text: string, finish: string | null): object {
    return { text, index: this.choices.length, logprobs: null, finish_reason: finish };
  }

  private wireUsage(): object {
    const { input, output } = this;
    return { prompt_tokens: input, completion_tokens: output, total_tokens: input + output };
  }
}
