import type { Response } from 'express';
import { DomainError, setEnvelopeCode } from '../error/index.js';
import { answered } from '../message/index.js';
import { envelope } from './envelope.js';
import { localized } from './localized.js';
import { sseFrame, SseWriter } from './sse.writer.js';
import { whileConnected } from './while-connected.decorator.js';

const PING_MS = 10_000;

/** How work that takes a while tells of its steps. */
export interface Steps {
  /** Sends a frame; does nothing where the client waits for the result alone. */
  readonly send: (event: string, data: object) => void;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

/**
 * Answers a route that is marked `NoEnvelope` and takes a while: with the envelope of its result or, where the client
 * accepts `text/event-stream`, with a frame for each step as it happens and the result in a frame `done`. A DomainError after
 * the first frame is a frame `error` with its envelope; any other error closes the connection.
 */
export async function answerInSteps(
  response: Response,
  work: (steps: Steps) => Promise<object>,
): Promise<void> {
  const signal = whileConnected(response);
  if (response.req.accepts(['application/json', 'text/event-stream']) !== 'text/event-stream') {
    const { code, msg, ...rest } = envelope(await work({ send: () => undefined, signal }));
    setEnvelopeCode(response, code);
    response.status(200).json({ code, msg: answered(msg, response), ...rest });
    return;
  }
  const writer = new SseWriter(response, PING_MS);
  const send = (event: string, data: object): void => {
    if (response.destroyed) return;
    if (!response.headersSent) writer.start({ comment: false });
    writer.write(sseFrame(event, data));
  };
  try {
    send('done', await work({ send, signal }));
    setEnvelopeCode(response, 200);
  } catch (error) {
    if (!response.headersSent || !(error instanceof DomainError)) throw error;
    const { code, message, data } = error;
    send('error', { code, msg: localized(message), data });
    setEnvelopeCode(response, code);
  }
  writer.end();
}
