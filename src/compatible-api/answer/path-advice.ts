import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';

/** What other services have before the path, or instead of /v1. */
const FOREIGN_PREFIX =
  /^\/(?:openai|anthropic|api|ollama|compatible-mode|inference|paas|v\d+)(?=\/|$)/i;

/** The address with /v1 where that has a route; that is what is missing from the base address. */
export function pathAdvice(path: string, hasRoute: (path: string) => boolean): Message | undefined {
  let rest = path;
  while (FOREIGN_PREFIX.test(rest)) rest = rest.replace(FOREIGN_PREFIX, '');
  const meant = `/v1${rest}`;
  if (/^\/v1\/v1(\/|$)/i.test(path)) {
    return msg`The path has /v1 twice. Remove one from the base address.`;
  }
  if (/^\/v1(\/|$)/i.test(path)) return undefined;
  return rest !== '' && hasRoute(meant)
    ? msg`Add /v1 to the base address: ${meant}.`
    : msg`The compatible interfaces are below /v1. Add /v1 to the base address.`;
}
