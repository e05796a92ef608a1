import type { Exchange } from './exchange.js';
import type { Protocol } from './protocol.js';

const WRONG_KEY = 'wrong-key';

/** The credential that came with the request, or the empty string. */
export function credentialOf(exchange: Exchange): string {
  const bearer = /^Bearer\s+(.*)$/i.exec(exchange.header('authorization'))?.[1] ?? '';
  return exchange.header('x-api-key') || bearer;
}

/** Reason for refusing the credential; undefined if it is accepted. Any key but one is valid. */
export function credentialProblem(exchange: Exchange, protocol: Protocol): string | undefined {
  const credential =
    protocol === 'messages' ? exchange.header('x-api-key') : credentialOf(exchange);
  if (credential === WRONG_KEY) return 'invalid x-api-key or authorization: the key is wrong';
  // The local runtime takes no credential.
  if (credential === '' && protocol !== 'ollama') return 'a credential is required';
  return undefined;
}
