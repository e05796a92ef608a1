import { estimateTokens } from '../answer/tokens.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';

/** Counts of the messages and the responses protocol. */
export const tokenCountRoutes: Route[] = [
  {
    method: 'POST',
    path: /\/responses\/input_tokens$/,
    protocol: 'chat-completions',
    handle: (exchange, behaviour) => {
      const { store: _, ...counted } = exchange.body;
      const input_tokens = behaviour.inputTokens ?? estimateTokens(JSON.stringify(counted));
      return replyJson(exchange, 200, { object: 'response.input_tokens', input_tokens }, behaviour);
    },
  },
  {
    method: 'POST',
    path: /\/messages\/count_tokens$/,
    protocol: 'messages',
    handle: (exchange, behaviour) => {
      const { system, messages, tools } = exchange.body;
      const counted = estimateTokens(JSON.stringify([system ?? '', messages ?? '', tools ?? '']));
      const input_tokens = behaviour.inputTokens ?? counted;
      return replyJson(exchange, 200, { input_tokens }, behaviour);
    },
  },
];
