import { DEFAULT_MAX_TOKENS } from '../../provider/index.js';
import type { ChatCall, RelayedBody } from '../../provider/index.js';
import { estimateMessageTokens, estimateTokens, IMAGE_TOKENS } from '../model-window.js';
import type { ResolvedChatModel } from '../model.resolver.js';

/** The capabilities that a call needs of the model that answers it. */
export interface Needs {
  readonly tools: boolean;
  readonly images: boolean;
  readonly tokens: number;
}

/** Whether nothing is known that keeps the fallback from answering. */
export function canAnswer(fallback: ResolvedChatModel, needs: Needs): boolean {
  if (needs.tools && fallback.supportsTools === false) return false;
  if (needs.images && fallback.supportsVision === false) return false;
  return fallback.contextWindow === undefined || needs.tokens <= fallback.contextWindow;
}

export function needsOfCall({ messages, tools }: Omit<ChatCall, 'model'>, tokens: number): Needs {
  const images = messages.some(
    ({ content }) => typeof content !== 'string' && content.some(({ type }) => type !== 'text'),
  );
  return { tools: (tools?.length ?? 0) > 0, images, tokens };
}

const IMAGES: readonly unknown[] = ['image_url', 'image', 'input_image'];

export function needsOfBody(body: RelayedBody, tokens: number): Needs {
  const tools = ['tools', 'functions'].some((name) => {
    const offered = body[name];
    return Array.isArray(offered) && offered.length > 0;
  });
  return { tools, images: hasImage(body['messages']) || hasImage(body['input']), tokens };
}

function hasImage(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasImage);
  if (typeof value !== 'object' || value === null) return false;
  if ('type' in value && IMAGES.includes(value.type)) return true;
  return 'content' in value && hasImage(value.content);
}

/** Whether a body for the asked model can be passed on to the fallback: both speak the protocol of the client. */
export function relaysAlike(fallback: ResolvedChatModel, requested: ResolvedChatModel): boolean {
  const protocol = requested.adapter.protocol(requested.connection.address);
  return fallback.adapter.canRelay(fallback.connection.address, protocol);
}

const OUTPUT_LIMITS = ['max_tokens', 'max_completion_tokens', 'max_output_tokens'];

/** The body for the model. A fallback that can write less is asked for less. */
export function bodyFor(
  body: RelayedBody,
  model: ResolvedChatModel,
  requested: ResolvedChatModel,
): RelayedBody {
  const { modelName, maxOutput, id } = model;
  const outgoing: Record<string, unknown> = { ...body, model: modelName };
  const maxAnswerTokens = id === requested.id ? Infinity : (maxOutput ?? Infinity);
  for (const name of OUTPUT_LIMITS) {
    const requestedLimit = outgoing[name];
    if (typeof requestedLimit !== 'number') continue;
    const fitting = Math.min(
      requestedLimit,
      maxAnswerTokens,
      remainingWindow(model, () => estimateBodyTokens(body)),
    );
    if (fitting > thinkingBudgetIn(body)) outgoing[name] = fitting;
  }
  return outgoing;
}

/** The thinking budget of the messages protocol, which must be smaller than the limit of the answer. */
function thinkingBudgetIn({ thinking }: RelayedBody): number {
  const isBudget = typeof thinking === 'object' && thinking !== null && 'budget_tokens' in thinking;
  return isBudget ? Number(thinking.budget_tokens) : 0;
}

export function callFor(
  call: Omit<ChatCall, 'model'>,
  model: ResolvedChatModel,
  requested: ResolvedChatModel,
): ChatCall {
  const { modelName, maxOutput, contextWindow, id } = model;
  const { maxTokens } = call;
  const remainingTokens = remainingWindow(model, () => tokensOfCall(call));
  if (maxTokens !== undefined) {
    const maxAnswerTokens = id === requested.id ? Infinity : (maxOutput ?? Infinity);
    return {
      ...call,
      model: modelName,
      maxTokens: Math.min(maxTokens, maxAnswerTokens, remainingTokens),
    };
  }
  if (!needsLimit(model)) return { ...call, model: modelName };
  // Estimates may be too low, so half of the window is left for the request.
  const half = contextWindow === undefined ? Infinity : Math.max(1, Math.floor(contextWindow / 2));
  const fitting = Math.min(maxOutput ?? Infinity, half, remainingTokens);
  return {
    ...call,
    model: modelName,
    ...(fitting < DEFAULT_MAX_TOKENS && { maxTokens: fitting }),
  };
}

/** Estimated tokens of a call's request. */
export function tokensOfCall({ messages, tools }: Omit<ChatCall, 'model'>): number {
  const offered = tools ? estimateTokens(JSON.stringify(tools)) : 0;
  return messages.reduce((sum, message) => sum + estimateMessageTokens(message), offered);
}

/** The messages protocol requires a limit of the answer, and its services refuse one that exceeds the window. */
function needsLimit({ adapter, connection }: ResolvedChatModel): boolean {
  return adapter.protocol(connection.address) === 'messages';
}

/** The longest answer that fits into the window beside the request. */
function remainingWindow(model: ResolvedChatModel, sentTokens: () => number): number {
  const { contextWindow } = model;
  if (contextWindow === undefined || !needsLimit(model)) return Infinity;
  return Math.max(1, contextWindow - sentTokens());
}

/** The fields of request bodies that the model reads. */
const READ = ['system', 'instructions', 'messages', 'input', 'tools', 'functions'] as const;

/** Fields whose values mean nothing to the model. */
const STRUCTURE = new Set([
  ...['role', 'type', 'id', 'tool_call_id', 'call_id', 'status', 'detail'],
  ...['tool_use_id', 'signature', 'encrypted_content', 'cache_control'],
]);

/** Types of image parts in the protocols. */
const IMAGE_FIELDS = new Set(['image_url', 'source']);

/** Estimated tokens of a relayed body, counted as estimateMessageTokens does. */
export function estimateBodyTokens(body: RelayedBody): number {
  return READ.reduce((sum, field) => sum + tokensIn(body[field]), 0);
}

function tokensIn(value: unknown): number {
  if (typeof value === 'string') return estimateTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensIn(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce<number>((sum, [name, one]) => {
    if (IMAGE_FIELDS.has(name)) return sum + IMAGE_TOKENS;
    return STRUCTURE.has(name) ? sum : sum + tokensIn(one);
  }, 0);
}
