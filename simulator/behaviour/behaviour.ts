import type { JsonValue } from '../http/json.js';

export interface ScriptedToolCall {
  id?: string;
  name: string;
  /** An object, or the exact text to send as the arguments (which may be invalid JSON on purpose). */
  arguments?: JsonValue;
}

/**
 * How the simulator treats one request. Every member is optional; an empty behaviour is a healthy
 * service. A chunk is one piece of text, reasoning, refusal or tool arguments; "after N" counts them.
 * For a blocking answer "after 0" means before the first byte of the body, and "after N" half way.
 */
export interface Behaviour {
  /** Answer text instead of the composed one. */
  text?: string;
  /** Thinking text sent before the answer. */
  reasoning?: string;
  toolCalls?: ScriptedToolCall[];
  /** Finish reason in the words of chat-completions, mapped to the protocol spoken. */
  finishReason?: string;

  /** Answers this HTTP status with the protocol's error object. */
  status?: number;
  /** Extra response headers, with any status. */
  headers?: Record<string, string>;
  /** Response body to send as it is (a string verbatim, anything else as JSON). */
  body?: JsonValue;
  /** `Retry-After` in seconds. */
  retryAfter?: number;
  /** `Retry-After` as an HTTP date this many seconds ahead. */
  retryAfterDate?: number;
  /** The first N requests of this model name fail with `status` (503 unless given), then it works. */
  failFirst?: number;
  /** The error text contains the credential received and an address. With `error`, in mid-stream. */
  leak?: boolean;

  /** Answers N chunks of fixed text: `tok0 tok1 …`. */
  chunks?: number;
  /** Answers the last user message verbatim. */
  echo?: boolean;
  /** Answers text with emoji and CJK characters. */
  unicode?: boolean;
  /** Answers one chunk of 2 MiB. */
  huge?: boolean;
  /** Declines in the protocol's own form. */
  refusal?: boolean;
  /** Finishes because of the token limit. */
  length?: boolean;
  /** Calls the tool of this name, unless the request already ends with a tool result. */
  toolCall?: string;
  /** Reports no usage. */
  noUsage?: boolean;
  /** Reports this many tokens read and written; unset: an estimate. */
  inputTokens?: number;
  outputTokens?: number;
  /** Streams one chunk without choices first; a blocking answer has no choice at all. */
  emptyChoices?: boolean;

  /** Does not answer until a request to release, or a reset. */
  hold?: boolean;
  /** Time before the first byte. */
  firstMs?: number;
  /** Time between two chunks. */
  delayMs?: number;
  /** Keep-alive comments at this interval during every wait of a stream. */
  commentsMs?: number;
  /** Hangs after N chunks. */
  stall?: number;
  /** Resets the TCP connection after N chunks. */
  reset?: number;
  /** Ends cleanly after N chunks, with neither finish reason nor end mark. */
  cut?: number;
  /** Sends the protocol's error object after N chunks and ends; a blocking one answers it with 200. */
  error?: number;
  /** Sends an event that is not JSON after N chunks, then goes on. */
  malformed?: number;
  /** Leaves out the end mark after the finish reason. */
  noDone?: boolean;
  /** Puts bytes that are not UTF-8 into the text. */
  wrongUtf8?: boolean;
  /** Cuts the output into writes of 1 to 7 bytes, also inside characters. */
  byteSplit?: boolean;
  /** Ends lines with CR LF. */
  crlf?: boolean;
  /** Sends everything in one write. */
  oneWrite?: boolean;

  /** Answers one vector or rerank result less than it should. */
  tooFew?: boolean;
  /** Answers one more; a rerank result for a document that was not given. */
  tooMany?: boolean;
  /** Gives every vector or rerank result the index 0. */
  sameIndex?: boolean;
  /** Writes null, as JSON does for NaN, in place of a number of a vector or of a score. */
  notFinite?: boolean;
  /** Answers vectors of zeros. */
  zeros?: boolean;
  /** Answers a last vector that is shorter than the others. */
  ragged?: boolean;

  /** Number of queries after which a media task is finished (2 unless given). */
  polls?: number;
  /** The media task ends as failed. */
  taskFail?: boolean;
  /** The media task is in this state for ever; it may be one that the protocol does not have. */
  taskState?: string;
  /** A media service answers neither a medium nor a task. */
  emptyResult?: boolean;
}
