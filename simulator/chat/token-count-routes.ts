import { estimateTokens } from '../answer/tokens.js';
import { replyJson } from '../http/reply.js';
import type { Route } from '../http/route.js';

/** Counts of the messages protocol. */
export const tokenCountRoutes: Route[] = [
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
