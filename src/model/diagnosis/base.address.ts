import type { ChatAdapter } from '../../provider/index.js';

/** What the chat protocols append to a base address. */
const CHAT_ENDPOINT = /\/(chat\/completions|messages|api\/chat)$/;
const EMBEDDINGS = '/embeddings';
const USUAL_PREFIX = '/v1';

export function baseOfChatEndpoint(url: string): string {
  return url.replace(CHAT_ENDPOINT, '');
}

/**
 * The base address of the embedding calls for a stored address: that of the chat calls where the provider code has a
 * chat adapter, which knows the vendor's usual prefix. Throws InvalidAddressError.
 */
export function embeddingBase(address: string, adapter: ChatAdapter | undefined): string {
  const stripped = withoutSlashes(withoutSlashes(address.trim()).replace(/\/embeddings$/, ''));
  const base = adapter ? baseOfChatEndpoint(adapter.endpoint(stripped)) : stripped;
  // A local runtime has its chat below /api, and the embeddings of this protocol below /v1.
  return URL.parse(base)?.pathname === '/' ? base + USUAL_PREFIX : base;
}

export function embeddingEndpoint(base: string): string {
  return base + EMBEDDINGS;
}

export function withoutSlashes(address: string): string {
  return address.replace(/\/+$/, '');
}
