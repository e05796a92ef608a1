import type { RelayedBody } from '../../provider/index.js';
import { estimateTokens, IMAGE_TOKENS } from '../model-window.js';

/** Where a body of chat-completions or of the messages protocol has what the model reads. */
const READ = ['system', 'messages', 'tools', 'functions'] as const;

/** Values of these names say nothing to the model. */
const STRUCTURE = new Set([
  ...['role', 'type', 'id', 'tool_call_id', 'detail'],
  ...['tool_use_id', 'signature', 'cache_control'],
]);

/** Images of both protocols. */
const IMAGES = new Set(['image_url', 'source']);

/** Tokens of what a relayed body gives a model to read, as estimateMessageTokens counts them. */
export function estimateBodyTokens(body: RelayedBody): number {
  return READ.reduce((sum, field) => sum + tokensIn(body[field]), 0);
}

function tokensIn(value: unknown): number {
  if (typeof value === 'string') return estimateTokens(value);
  if (Array.isArray(value)) return value.reduce<number>((sum, one) => sum + tokensIn(one), 0);
  if (typeof value !== 'object' || value === null) return 0;
  return Object.entries(value).reduce<number>((sum, [name, one]) => {
    if (IMAGES.has(name)) return sum + IMAGE_TOKENS;
    return STRUCTURE.has(name) ? sum : sum + tokensIn(one);
  }, 0);
}
