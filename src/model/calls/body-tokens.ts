import type { RelayedBody } from '../../provider/index.js';
import { estimateTokens, IMAGE_TOKENS } from '../model-window.js';

/** Where the bodies of the protocols have what the model reads. */
const READ = ['system', 'instructions', 'messages', 'input', 'tools', 'functions'] as const;

/** Values of these names say nothing to the model. */
const STRUCTURE = new Set([
  ...['role', 'type', 'id', 'tool_call_id', 'call_id', 'status', 'detail'],
  ...['tool_use_id', 'signature', 'encrypted_content', 'cache_control'],
]);

/** Images of the protocols. */
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
