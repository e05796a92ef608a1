import type { Answer } from '../answer/answer.js';
import type { Exchange } from '../http/exchange.js';
import type { JsonObject } from '../http/json.js';
import type { ChatRequest } from './chat-request.js';

/**
 * One event of a stream in its final form. Faults count the chunks, strike before a chunk or the
 * finish, and leave out the end mark; frames are structure around them.
 */
export interface WireEvent {
  kind: 'frame' | 'chunk' | 'finish' | 'end-mark';
  text: string;
}

/** Translation of requests and answers for one protocol, without access to the network. */
export interface ChatProtocol {
  readonly streamType: string;
  /** Throws InvalidRequest when the request does not follow the protocol. */
  read(exchange: Exchange): ChatRequest;
  blockingAnswer(request: ChatRequest, answer: Answer): JsonObject;
  /** The members of a blocking answer that hold its content, empty. */
  readonly withoutContent: JsonObject;
  streamedAnswer(request: ChatRequest, answer: Answer): WireEvent[];
  /** An event that is valid but carries nothing. */
  readonly emptyEvent: string;
  readonly malformedEvent: string;
  readonly keepAlive: string;
  errorEvent(error: JsonObject): string;
}
