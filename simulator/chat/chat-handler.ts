import { answerTo } from '../answer/answer.js';
import type { Behaviour } from '../behaviour/behaviour.js';
import type { Exchange } from '../http/exchange.js';
import { failureMessage } from '../http/failure.js';
import { errorBody, type Protocol } from '../http/protocol.js';
import { replyJson } from '../http/reply.js';
import type { ChatProtocol } from './chat-protocol.js';
import { InvalidRequest } from './chat-request.js';
import { StreamWriter } from './stream-writer.js';

type ChatHandler = (exchange: Exchange, behaviour: Behaviour) => Promise<void>;

/** Answers the requests of one chat protocol, streamed or blocking as the request asks. */
export function chatHandler(name: Protocol, protocol: ChatProtocol): ChatHandler {
  return async (exchange, behaviour) => {
    try {
      await answerChat(name, protocol, exchange, behaviour);
    } catch (error) {
      if (!(error instanceof InvalidRequest)) throw error;
      await replyJson(exchange, 400, errorBody(name, 400, error.message));
    }
  };
}

async function answerChat(
  name: Protocol,
  protocol: ChatProtocol,
  exchange: Exchange,
  behaviour: Behaviour,
): Promise<void> {
  const request = protocol.read(exchange);
  const answer = answerTo(request, behaviour);
  const { usage } = answer;
  if (usage) {
    exchange.recording.tokens = { input: usage.promptTokens, output: usage.completionTokens };
  }
  const error = errorBody(name, 500, failureMessage(exchange, behaviour));
  if (request.stream) {
    const events = protocol.streamedAnswer(request, answer);
    return new StreamWriter(exchange, protocol, behaviour, error).stream(events);
  }
  const chunks = answer.pieces.reduce((count, piece) => count + piece.chunks.length, 0);
  await exchange.pause((behaviour.delayMs ?? 0) * chunks);
  const whole = protocol.blockingAnswer(request, answer);
  const body = behaviour.emptyChoices ? { ...whole, ...protocol.withoutContent } : whole;
  return replyJson(exchange, 200, behaviour.error === undefined ? body : error, behaviour);
}
