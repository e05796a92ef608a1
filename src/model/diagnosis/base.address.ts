/** What the protocols append to a base address. */
const ENDPOINT = /\/(chat\/completions|messages|api\/chat|embeddings|api\/embed|reranks?)$/;

/** The base address of a URL that is called. */
export function baseOfEndpoint(url: string): string {
  return url.replace(ENDPOINT, '');
}

export function withoutSlashes(address: string): string {
  return address.replace(/\/+$/, '');
}
