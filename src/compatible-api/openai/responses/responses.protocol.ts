import type { Failure } from '../../../platform/error/index.js';
import { sseFrame } from '../../../platform/http/index.js';
import { referenceOf } from '../../../agent/index.js';
import type { Source, TurnPart } from '../../../agent/index.js';
import type { ToolCall } from '../../../provider/index.js';
import { citationsOf, CollectedAnswer } from '../../answer/collected-answer.js';
import type {
  AnswerContext,
  AnswerWriter,
  ApiRequest,
  ParameterNames,
  RelayedRequest,
  TranslatedCall,
} from '../../answer/api.request.js';
import { encodeState, newId } from '../../answer/encoded-state.js';
import type { IgnoredParameters } from '../../answer/answer.js';
import { openAiCode } from '../openai.errors.js';
import { loadedTools } from './input-items.js';
import { CALL_PREFIXES, callFields, OfferedTools } from './offered-tools.js';
import type { CallFields } from './offered-tools.js';
import { finishedResponse, relayedBody } from './relayed-response.js';
import { ENCRYPTED_REASONING, noteHints, translate } from './responses.request.js';
import type { ResponseParameters } from './responses.request.js';
import type { JsonObject } from './stored-response.entity.js';

// The Responses protocol of OpenAI as a service speaks it: requests in, answers out.

/** Keeps a finished response before the client is told that it is finished. */
export type KeepResponse = (response: JsonObject & { readonly id: string }) => Promise<void>;

/** Context of a request besides its parameters. */
export interface ResponseContext {
  /** The preceding items, oldest first. */
  readonly earlier: readonly JsonObject[];
  /** The items of the request as stored, including referenced ones. */
  readonly requestItems: readonly JsonObject[];
  /** Whether some items are not in the request itself. */
  readonly hasStored: boolean;
  /** Id of the response; generated when absent. */
  readonly id?: string;
  readonly keep: KeepResponse | undefined;
}

/** A request of POST /v1/responses. */
export class ResponsesRequest implements ApiRequest {
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
    strictTool: (index) => `${this.tools.places[index] ?? 'tools'}.strict`,
    effort: 'reasoning.effort',
  };
  /** The body relayed to a service of the same protocol. */
  readonly body: ApiRequest['body'];
  readonly relay: RelayedRequest;
  private answer: ResponseWriter | undefined;
  private readonly tools: OfferedTools;

  constructor(
    /** The unmodified body of the client. */
    private readonly clientBody: ApiRequest['body'],
    private readonly params: ResponseParameters,
    private readonly context: ResponseContext,
  ) {
    const { earlier, requestItems, hasStored, keep } = context;
    const items = [...earlier, ...requestItems];
    this.tools = new OfferedTools(params.tools ?? [], loadedTools(items));
    this.body = relayedBody(clientBody, hasStored ? items : undefined);
    this.relay = {
      protocol: 'responses',
      withUsage: true,
      ...(keep && {
        keep: async (text) => {
          const response = finishedResponse(text);
          const id = response?.['id'];
          if (response && typeof id === 'string') await keep({ ...response, id });
        },
      }),
    };
  }

  get model(): string {
    return this.params.model;
  }

  get stream(): boolean {
    return this.params.stream === true;
  }

  translate(ignored: IgnoredParameters): TranslatedCall {
    noteHints(this.clientBody, this.params, ignored);
    const { earlier, requestItems } = this.context;
    return translate(this.params, earlier, requestItems, this.tools);
  }

  writer(isAgent: boolean): ResponseWriter {
    this.answer = new ResponseWriter(this.params, this.tools, isAgent, this.context);
    return this.answer;
  }

  failureEvent(failure: Failure): string {
    return (this.answer ?? this.writer(false)).failed(failure);
  }

  /** The response before anything of it is written. */
  initialResponse(): JsonObject {
    return this.writer(false).response({ status: 'in_progress' });
  }

  /** The response with what was written of it before the failure. */
  failed(failure: Failure): JsonObject {
    return (this.answer ?? this.writer(false)).failedResponse(failure);
  }
}

type Status = 'in_progress' | 'completed' | 'incomplete';

interface TextPart {
  readonly type: 'output_text';
  text: string;
  annotations: readonly object[];
  readonly logprobs: readonly never[];
}

interface ThoughtPart {
  readonly type: 'summary_text' | 'reasoning_text';
  text: string;
}

interface MessageItem {
  id: string;
  type: 'message';
  status: Status;
  role: 'assistant';
  content: [TextPart];
}

interface ReasoningItem {
  id: string;
  type: 'reasoning';
  status: Status;
  summary: ThoughtPart[];
  content?: [ThoughtPart];
  /** Provider state of the calls. */
  encrypted_content?: string;
}

type TextItem = MessageItem | ReasoningItem;
type Item = TextItem | (CallFields & { readonly id: string; readonly status: Status });

/** Events of the text of an item. */
interface TextEvents {
  /** Event name prefix of `.delta` and `.done`. */
  readonly text: string;
  /** Event name prefix of `.added` and `.done`. */
  readonly part: string;
  readonly place: object;
}

const MESSAGE_EVENTS: TextEvents = {
  text: 'response.output_text',
  part: 'response.content_part',
  place: { content_index: 0 },
};
const REASONING_EVENTS: TextEvents = { ...MESSAGE_EVENTS, text: 'response.reasoning_text' };
const SUMMARY_EVENTS: TextEvents = {
  text: 'response.reasoning_summary_text',
  part: 'response.reasoning_summary_part',
  place: { summary_index: 0 },
};

/** Events of the text of a call; calls of other tools have none. */
const CALL_TEXTS: Readonly<Record<string, readonly [event: string, field: string]>> = {
  function_call: ['response.function_call_arguments', 'arguments'],
  custom_tool_call: ['response.custom_tool_call_input', 'input'],
};

/** Writes one answer in the protocol, as events or as one body. */
class ResponseWriter implements AnswerWriter {
  private readonly id: string;
  private readonly createdAt = now();
  private readonly answer: CollectedAnswer;
  private readonly output: Item[] = [];
  /** The last item while it can be continued. */
  private open: TextItem | undefined;
  private sequence = 0;
  private readonly showsState: boolean;
  private readonly showsSummary: boolean;

  constructor(
    private readonly params: ResponseParameters,
    private readonly tools: OfferedTools,
    isAgent: boolean,
    private readonly context: Pick<ResponseContext, 'id' | 'keep'>,
  ) {
    this.id = context.id ?? newId('resp');
    this.answer = new CollectedAnswer(isAgent);
    this.showsState = params.include?.includes(ENCRYPTED_REASONING) === true;
    this.showsSummary = !!params.reasoning?.summary;
  }

  add(parts: readonly TurnPart[]): string {
    return parts.map((part) => this.addPart(part)).join('');
  }

  async end(context: AnswerContext): Promise<string> {
    this.answer.checkWhole();
    const events = this.begin() + this.callTools() + this.close(context.sources);
    const response = await this.finished(context);
    return events + this.event(`response.${this.ending().status}`, { response });
  }

  async whole(context: AnswerContext): Promise<object> {
    this.answer.checkWhole();
    this.callTools();
    this.close(context.sources);
    return this.finished(context);
  }

  failed(failure: Failure): string {
    const response = this.failedResponse(failure);
    return this.begin() + this.event('response.failed', { response });
  }

  failedResponse(failure: Failure): JsonObject {
    return this.response({ status: 'failed', error: errorOf(failure) });
  }

  private addPart(part: TurnPart): string {
    const visiblePart = this.answer.add(part);
    switch (visiblePart?.type) {
      case undefined:
        return '';
      case 'text-delta':
        return this.addText('message', visiblePart.text);
      case 'reasoning-delta':
        return this.addText('reasoning', visiblePart.text);
      case 'tool-call':
        // Written at the end, after its state.
        return '';
    }
  }

  private addText(type: TextItem['type'], text: string): string {
    const opened =
      this.open?.type === type ? '' : this.begin() + this.close() + this.openItem(type);
    const { open: item } = this;
    if (!item) return opened;
    this.partOf(item).text += text;
    const { text: event } = this.eventsOf(item);
    return (
      opened +
      this.event(`${event}.delta`, {
        ...this.inPart(item),
        delta: text,
        ...(type === 'message' && { logprobs: [] }),
      })
    );
  }

  private openItem(type: TextItem['type']): string {
    const item = type === 'message' ? emptyMessage() : emptyReasoning(this.showsSummary);
    this.open = item;
    this.output.push(item);
    const { part } = this.eventsOf(item);
    const emptyItem =
      item.type === 'message' || item.content ? { ...item, content: [] } : { ...item, summary: [] };
    return (
      this.event('response.output_item.added', { ...this.at(), item: emptyItem }) +
      this.event(`${part}.added`, { ...this.inPart(item), part: this.partOf(item) })
    );
  }

  /** The items of the tool calls, which end an answer. The provider state precedes them. */
  private callTools(): string {
    const { calls, providerState } = this.answer;
    if (calls.length === 0) return '';
    const state = providerState ? this.keepState(encodeState(providerState)) : '';
    return state + calls.map((call) => this.addCall(call)).join('');
  }

  /** Puts the provider state into the preceding reasoning, otherwise into its own item. */
  private keepState(state: string): string {
    if (this.open?.type === 'reasoning') {
      this.open.encrypted_content = state;
      return '';
    }
    const before = this.begin() + this.close();
    const item: ReasoningItem = {
      id: newId('rs'),
      type: 'reasoning',
      status: 'completed',
      summary: [],
      encrypted_content: state,
    };
    this.output.push(item);
    return (
      before +
      this.event('response.output_item.added', { ...this.at(), item: this.visibleItem(item) }) +
      this.event('response.output_item.done', { ...this.at(), item: this.visibleItem(item) })
    );
  }

  private addCall(call: ToolCall): string {
    const before = this.begin() + this.close();
    const fields = callFields(this.tools.calledBy(call.name), call);
    const id = newId(CALL_PREFIXES[fields.type]);
    const done: Item = { ...fields, id, status: 'completed' };
    this.output.push(done);
    const place = { item_id: id, ...this.at() };
    const [event, field] = CALL_TEXTS[fields.type] ?? [];
    const startedItem = {
      ...done,
      status: 'in_progress',
      ...(field !== undefined && { [field]: '' }),
    };
    const { name, namespace } = fields as Partial<Record<'name' | 'namespace', unknown>>;
    const text = field === undefined ? undefined : fields[field];
    return [
      before,
      this.event('response.output_item.added', { ...this.at(), item: startedItem }),
      ...(event !== undefined && field !== undefined
        ? [
            this.event(`${event}.delta`, { ...place, delta: text }),
            this.event(`${event}.done`, {
              ...place,
              ...(fields.type === 'function_call' && { name, namespace }),
              [field]: text,
            }),
          ]
        : []),
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
    const part = this.partOf(item);
    const { text: event, part: partEvent } = this.eventsOf(item);
    const isText = part.type === 'output_text';
    const cited = isText ? citationsOf(part.text, sources) : [];
    const annotations = cited.map(({ source: _, ...one }) => ({ type: 'url_citation', ...one }));
    if (isText) part.annotations = annotations;
    return [
      ...annotations.map((annotation, annotation_index) =>
        this.event('response.output_text.annotation.added', {
          ...place,
          annotation_index,
          annotation,
        }),
      ),
      this.event(`${event}.done`, {
        ...place,
        text: part.text,
        ...(isText && { logprobs: [] }),
      }),
      this.event(`${partEvent}.done`, { ...place, part }),
      this.event('response.output_item.done', { ...this.at(), item: this.visibleItem(item) }),
    ].join('');
  }

  private at(): { readonly output_index: number } {
    return { output_index: this.output.length - 1 };
  }

  private inPart(item: TextItem): object {
    return { item_id: item.id, ...this.at(), ...this.eventsOf(item).place };
  }

  private eventsOf(item: TextItem): TextEvents {
    if (item.type === 'message') return MESSAGE_EVENTS;
    return item.content ? REASONING_EVENTS : SUMMARY_EVENTS;
  }

  private partOf(item: TextItem): TextPart | ThoughtPart {
    const parts: readonly (TextPart | ThoughtPart)[] =
      item.type === 'message' ? item.content : (item.content ?? item.summary);
    const [part] = parts;
    if (!part) throw new Error('An item of text has a part.');
    return part;
  }

  /** The item for the client, who is shown the state of the model only where they ask for it. */
  private visibleItem(item: Item): object {
    return this.showsState ? item : withoutState(item);
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
    await this.context.keep?.({ ...response, id: this.id, output: this.output });
    return response;
  }

  private ending(): { readonly status: Status; readonly incomplete_details: object | null } {
    const reason = INCOMPLETE[this.answer.finish];
    return reason === undefined
      ? { status: 'completed', incomplete_details: null }
      : { status: 'incomplete', incomplete_details: { reason } };
  }

  /** The response as it is now. */
  response(more: object): JsonObject {
    const output = this.output.map((item) => this.visibleItem(item));
    return responseOf(
      this.params,
      { id: this.id, output },
      { created_at: this.createdAt, ...more },
    );
  }
}

/** The item without the provider state. */
export function withoutState(item: object): JsonObject {
  const { encrypted_content: _, ...others } = item as JsonObject;
  return others;
}

/** Last event of a stream that cannot continue. The response itself may still run. */
export function errorEvent(failure: Failure, sequence_number: number): string {
  return sseFrame('error', { type: 'error', ...errorOf(failure), param: null, sequence_number });
}

/** Codes that clients act on: they shorten the conversation, wait, or give up. */
const CODES = new Set(['context_length_exceeded', 'rate_limit_exceeded', 'insufficient_quota']);

/** Error code of the protocol for a failure. */
function errorOf(failure: Failure): { readonly code: string; readonly message: string } {
  const code = openAiCode(failure);
  return {
    code: code !== undefined && CODES.has(code) ? code : 'server_error',
    message: failure.message,
  };
}

function responseOf(
  params: ResponseParameters,
  result: { readonly id: string; readonly output: readonly object[] },
  more: object,
): JsonObject {
  const { conversation, text, reasoning } = params;
  return {
    id: result.id,
    object: 'response',
    created_at: now(),
    completed_at: null,
    background: params.background === true,
    ...(conversation !== undefined && {
      conversation: { id: typeof conversation === 'string' ? conversation : conversation.id },
    }),
    error: null,
    incomplete_details: null,
    instructions: params.instructions ?? null,
    max_output_tokens: params.max_output_tokens ?? null,
    max_tool_calls: null,
    metadata: params.metadata ?? {},
    model: params.model,
    output: result.output,
    parallel_tool_calls: params.parallel_tool_calls ?? true,
    previous_response_id: params.previous_response_id ?? null,
    reasoning: { effort: reasoning?.effort ?? null, summary: reasoning?.summary ?? null },
    service_tier: 'default',
    store: params.store !== false,
    temperature: params.temperature ?? null,
    text: { format: text?.format ?? { type: 'text' } },
    tool_choice: params.tool_choice ?? 'auto',
    tools: params.tools ?? [],
    top_logprobs: 0,
    top_p: params.top_p ?? null,
    truncation: 'disabled',
    usage: null,
    ...more,
  };
}

function emptyMessage(): MessageItem {
  return {
    id: newId('msg'),
    type: 'message',
    status: 'in_progress',
    role: 'assistant',
    content: [{ type: 'output_text', text: '', annotations: [], logprobs: [] }],
  };
}

/** The thinking, as a summary if requested, because most clients show only summaries. */
function emptyReasoning(asSummary: boolean): ReasoningItem {
  const base = { id: newId('rs'), type: 'reasoning', status: 'in_progress' } as const;
  return asSummary
    ? { ...base, summary: [{ type: 'summary_text', text: '' }] }
    : { ...base, summary: [], content: [{ type: 'reasoning_text', text: '' }] };
}

function now(): number {
  return Math.floor(Date.now() / 1_000);
}

/** Reason of an incomplete response by finish reason. */
const INCOMPLETE: Readonly<Record<string, string>> = {
  length: 'max_output_tokens',
  'content-filter': 'content_filter',
};
