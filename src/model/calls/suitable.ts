import type { ChatCall, RelayedBody } from '../../provider/index.js';
import type { ResolvedChatModel } from '../model.resolver.js';

/** What a call needs of the model that answers it. */
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
  return { tools, images: hasImage(body['messages']), tokens };
}

function hasImage(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasImage);
  if (typeof value !== 'object' || value === null) return false;
  if ('type' in value && IMAGES.includes(value.type)) return true;
  return 'content' in value && hasImage(value.content);
}

/** Whether a body for the asked model can be passed on to the fallback: both speak the protocol of the client. */
export function relaysAlike(fallback: ResolvedChatModel, asked: ResolvedChatModel): boolean {
  const protocol = asked.adapter.protocol(asked.connection.address);
  return fallback.adapter.canRelay(fallback.connection.address, protocol);
}

const OUTPUT_LIMITS = ['max_tokens', 'max_completion_tokens'];

/** The body for the model. A fallback that can write less is asked for less. */
export function bodyFor(
  body: RelayedBody,
  { modelName, maxOutput, id }: ResolvedChatModel,
  asked: ResolvedChatModel,
): RelayedBody {
  const sent: Record<string, unknown> = { ...body, model: modelName };
  if (id === asked.id || maxOutput === undefined) return sent;
  for (const name of OUTPUT_LIMITS) {
    const given = sent[name];
    if (typeof given === 'number' && given > maxOutput) sent[name] = maxOutput;
  }
  return sent;
}

export function callFor(
  call: Omit<ChatCall, 'model'>,
  { modelName: model, maxOutput, id }: ResolvedChatModel,
  asked: ResolvedChatModel,
): ChatCall {
  const { maxTokens } = call;
  if (id === asked.id || maxOutput === undefined || (maxTokens ?? 0) <= maxOutput) {
    return { ...call, model };
  }
  return { ...call, model, maxTokens: maxOutput };
}
