import type { Failure } from '../../../platform/error/index.js';
import { sseFrame } from '../../../platform/http/index.js';
import { referenceOf } from '../../../agent/index.js';
import type { Source, TurnPart } from '../../../agent/index.js';
import type { ToolCall } from '../../../provider/index.js';
import { citationsOf } from '../../answer/citations.js';
import { CollectedAnswer } from '../../answer/collected-answer.js';
import type {
  AnswerContext,
  AnswerWriter,
  DoorRequest,
  ParameterNames,
  TranslatedCall,
} from '../../answer/door.request.js';
import { openAiFailure } from '../openai.errors.js';
import { OfferedFunctions } from './offered-functions.js';
import type { FunctionName } from './offered-functions.js';
import { inputItemsOf, newId, translate } from './responses.request.js';
import type { ResponseParameters } from './responses.request.js';
import type { JsonObject } from './stored-response.entity.js';

// The Responses protocol of OpenAI as a service speaks it: requests in, answers out.

/** Keeps a finished response before the client is told that it is finished. */
export type KeepResponse = (id: string, response: JsonObject) => Promise<void>;

/** A request of POST /v1/responses. */
export class ResponsesRequest implements DoorRequest {
  readonly relay = undefined;
  readonly names: ParameterNames = {
    message: () => 'input',
    messages: 'input',
    format: 'text.format',
    formatParts: {
      type: 'text.format.type',
      name: 'text.format.name',
      schema: 'text.format.schema',
    },
    parallelToolCalls: 'parallel_tool_calls',
    imageDetail: 'detail',
    strictTool: (index) => `${this.functions.places[index] ?? 'tools'}.strict`,
    effort: 'reasoning.effort',
  };
  private answer: ResponseWriter | undefined;
  private readonly functions: OfferedFunctions;

  constructor(
    readonly body: DoorRequest['body'],
    private readonly given: ResponseParameters,
    /** The items of the turns that it continues, oldest first. */
    private readonly earlier: readonly JsonObject[],
    private readonly keep: KeepResponse | undefined,
  ) {
    this.functions = new OfferedFunctions(given.tools ?? []);
  }

  get model(): string {
    return this.given.model;
  }

  get stream(): boolean {
    return this.given.stream === true;
  }

  /** As they are stored. */
  get input(): readonly JsonObject[] {
    return inputItemsOf(this.given);
  }

  translate(): TranslatedCall {
    return translate(this.given, this.earlier, this.functions);
  }

  writer(isAgent: boolean): ResponseWriter {
    this.answer = new ResponseWriter(this.given, this.functions, isAgent, this.keep);
    return this.answer;
  }

  failureEvent(failure: Failure): string {
    return (this.answer ?? this.writer(false)).failed(failure);
  }
}

type Status = 'in_progress' | 'completed' | 'incomplete';

interface TextPart {
  readonly type: 'output_text';
  text: string;
  annotations: readonly object[];
  readonly logprobs: readonly never[];
}

type Item =
  | { id: string; type: 'message'; status: Status; role: 'assistant'; content: [TextPart] }
  | {
      id: string;
      type: 'reasoning';
      status: Status;
      summary: readonly never[];
      content: [{ type: 'reasoning_text'; text: string }];
    }
  | ({
      id: string;
      type: 'function_call';
      status: Status;
      call_id: string;
      arguments: string;
    } & FunctionName);

type TextItem = Exclude<Item, { type: 'function_call' }>;

/** What the events of the text of an item are called. */
const TEXT_EVENTS = {
  message: 'response.output_text',
  reasoning: 'response.reasoning_text',
} as const;

/** One answer in the form of the protocol, as events or in one piece. */
class ResponseWriter implements AnswerWriter {
  private readonly id = newId('resp');
  private readonly createdAt = now();
  private readonly answer: CollectedAnswer;
  private readonly output: Item[] = [];
  /** The last item, as long as it can be continued. */
  private open: TextItem | undefined;
  private sequence = 0;

  constructor(
    private readonly given: ResponseParameters,
    private readonly functions: OfferedFunctions,
    isAgent: boolean,
    private readonly keep: KeepResponse | undefined,
  ) {
    this.answer = new CollectedAnswer(isAgent);
  }

  add(parts: readonly TurnPart[]): string {
    return parts.map((part) => this.addPart(part)).join('');
  }

  async end(context: AnswerContext): Promise<string> {
    this.answer.checkWhole();
    const events = this.begin() + this.close(context.sources);
    const response = await this.finished(context);
    return events + this.event(`response.${this.ending().status}`, { response });
  }

  async whole(context: AnswerContext): Promise<object> {
    this.answer.checkWhole();
    this.close(context.sources);
    return this.finished(context);
  }

  failed(failure: Failure): string {
    const { status } = openAiFailure(failure);
    const { message } = failure;
    const error = { code: status === 429 ? 'rate_limit_exceeded' : 'server_error', message };
    const response = this.response({ status: 'failed', error });
    return this.begin() + this.event('response.failed', { response });
  }

  private addPart(part: TurnPart): string {
    const seen = this.answer.add(part);
    switch (seen?.type) {
      case undefined:
        return '';
      case 'text-delta':
        return this.addText('message', seen.text);
      case 'reasoning-delta':
        return this.addText('reasoning', seen.text);
      case 'tool-call':
        return this.addCall(seen.toolCall);
    }
  }

  private addText(type: TextItem['type'], text: string): string {
    let opened = '';
    let item = this.open;
    if (item?.type !== type) {
      opened = this.begin() + this.close();
      item = emptyItem(type);
      this.open = item;
      this.output.push(item);
      const shown = { ...item, content: [] };
      opened += this.event('response.output_item.added', { ...this.at(), item: shown });
      opened += this.event('response.content_part.added', {
        ...this.inPart(item),
        part: item.content[0],
      });
    }
    const [part] = item.content;
    part.text += text;
    return (
      opened +
      this.event(`${TEXT_EVENTS[type]}.delta`, {
        ...this.inPart(item),
        delta: text,
        ...(type === 'message' && { logprobs: [] }),
      })
    );
  }

  private addCall({ id: call_id, name: offered, arguments: text }: ToolCall): string {
    const before = this.begin() + this.close();
    const id = newId('fc');
    const called = this.functions.calledBy(offered);
    const item = { id, type: 'function_call', call_id, ...called } as const;
    const done: Item = { ...item, status: 'completed', arguments: text };
    this.output.push(done);
    const place = { item_id: id, ...this.at() };
    return [
      before,
      this.event('response.output_item.added', {
        ...this.at(),
        item: { ...item, status: 'in_progress', arguments: '' },
      }),
      this.event('response.function_call_arguments.delta', { ...place, delta: text }),
      this.event('response.function_call_arguments.done', { ...place, ...called, arguments: text }),
      this.event('response.output_item.done', { ...this.at(), item: done }),
    ].join('');
  }

  /** The events before the first item. */
  private begin(): string {
    if (this.sequence > 0) return '';
    const response = this.response({ status: 'in_progress' });
    return (
      this.event('response.created', { response }) +
      this.event('response.in_progress', { response })
    );
  }

  /** Ends the item that is open, with what it cites. */
  private close(sources: readonly Source[] = []): string {
    const item = this.open;
    if (!item) return '';
    this.open = undefined;
    item.status = this.ending().status;
    const place = this.inPart(item);
    const [part] = item.content;
    const cited = part.type === 'output_text' ? citationsOf(part.text, sources) : [];
    const annotations = cited.map(({ source: _, ...one }) => ({ type: 'url_citation', ...one }));
    if (part.type === 'output_text') part.annotations = annotations;
    const isText = part.type === 'output_text';
    return [
      ...annotations.map((annotation, annotation_index) =>
        this.event('response.output_text.annotation.added', {
          ...place,
          ...{ annotation_index, annotation },
        }),
      ),
      this.event(`${TEXT_EVENTS[item.type]}.done`, {
        ...place,
        text: part.text,
        ...(isText && { logprobs: [] }),
      }),
      this.event('response.content_part.done', { ...place, part }),
      this.event('response.output_item.done', { ...this.at(), item }),
    ].join('');
  }

  private at(): { readonly output_index: number } {
    return { output_index: this.output.length - 1 };
  }

  private inPart({ id: item_id }: TextItem): object {
    return { item_id, ...this.at(), content_index: 0 };
  }

  private event(type: string, fields: object): string {
    const frame = sseFrame(type, { type, sequence_number: this.sequence, ...fields });
    this.sequence += 1;
    return frame;
  }

  private async finished(context: AnswerContext): Promise<JsonObject> {
    const { sources } = context;
    const used = this.answer.usageOf(context);
    const response = this.response({
      ...this.ending(),
      completed_at: now(),
      usage: {
        input_tokens: used.inputTokens,
        input_tokens_details: { cached_tokens: used.cachedInputTokens ?? 0, cache_write_tokens: 0 },
        output_tokens: used.outputTokens,
        output_tokens_details: { reasoning_tokens: used.reasoningTokens ?? 0 },
        total_tokens: used.totalTokens,
      },
      ...(sources && { sources: sources.map(referenceOf) }),
    });
    await this.keep?.(this.id, response);
    return response;
  }

  private ending(): { readonly status: Status; readonly incomplete_details: object | null } {
    const reason = INCOMPLETE[this.answer.finish];
    return reason === undefined
      ? { status: 'completed', incomplete_details: null }
      : { status: 'incomplete', incomplete_details: { reason } };
  }

  /** The response as it is now. */
  private response(more: object): JsonObject {
    const { given } = this;
    return {
      id: this.id,
      object: 'response',
      created_at: this.createdAt,
      completed_at: null,
      background: false,
      error: null,
      incomplete_details: null,
      instructions: given.instructions ?? null,
      max_output_tokens: given.max_output_tokens ?? null,
      max_tool_calls: null,
      metadata: given.metadata ?? {},
      model: given.model,
      output: this.output,
      parallel_tool_calls: given.parallel_tool_calls ?? true,
      previous_response_id: given.previous_response_id ?? null,
      reasoning: { effort: given.reasoning?.effort ?? null, summary: null },
      service_tier: 'default',
      store: given.store !== false,
      temperature: given.temperature ?? null,
      text: { format: given.text?.format ?? { type: 'text' } },
      tool_choice: given.tool_choice ?? 'auto',
      tools: given.tools ?? [],
      top_logprobs: 0,
      top_p: given.top_p ?? null,
      truncation: 'disabled',
      usage: null,
      ...more,
    };
  }
}

function emptyItem(type: TextItem['type']): TextItem {
  return type === 'message'
    ? {
        ...{ id: newId('msg'), type, status: 'in_progress', role: 'assistant' },
        content: [{ type: 'output_text', text: '', annotations: [], logprobs: [] }],
      }
    : {
        ...{ id: newId('rs'), type, status: 'in_progress', summary: [] },
        content: [{ type: 'reasoning_text', text: '' }],
      };
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Why an answer is not whole, by the reason of its end. */
const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
};
