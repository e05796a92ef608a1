import type { Behaviour } from '../behaviour/behaviour.js';
import type { Script } from '../behaviour/script.js';
import { credentialOf } from './credential.js';
import type { Exchange } from './exchange.js';
import { errorBody, type Protocol } from './protocol.js';
import { replyJson, replyRaw } from './reply.js';

/** The text of a deliberate error; `leak` puts in what a gateway must never pass on. */
export function failureMessage(exchange: Exchange, behaviour: Behaviour): string {
  if (!behaviour.leak) return 'The simulator was told to fail this request.';
  const credential = credentialOf(exchange);
  return (
    `Incorrect API key provided: ${credential}. ` +
    `You can find your API key at ${exchange.origin}/account/api-keys.`
  );
}

/** Answers with the failure or fixed body that a behaviour asks for; false when there is none. */
export async function replyDeliberately(
  exchange: Exchange,
  protocol: Protocol,
  behaviour: Behaviour,
  script: Script,
): Promise<boolean> {
  const status = deliberateStatus(exchange, behaviour, script);
  if (status === undefined) return false;
  const headers = { ...retryAfter(behaviour), ...behaviour.headers };
  const { body } = behaviour;
  if (typeof body === 'string') {
    await exchange.pause(behaviour.firstMs ?? 0);
    await replyRaw(exchange, status, headers, Buffer.from(body));
  } else {
    const error = errorBody(protocol, status, failureMessage(exchange, behaviour));
    await replyJson(exchange, status, body ?? error, { ...behaviour, headers });
  }
  return true;
}

function deliberateStatus(
  exchange: Exchange,
  behaviour: Behaviour,
  script: Script,
): number | undefined {
  const { status, failFirst, body, leak, error } = behaviour;
  if (failFirst !== undefined) {
    return script.failsAgain(exchange.recording.model ?? '', failFirst)
      ? (status ?? 503)
      : undefined;
  }
  if (status !== undefined) return status;
  if (body !== undefined) return 200;
  return leak && error === undefined ? 401 : undefined;
}

function retryAfter({ retryAfter: seconds, retryAfterDate }: Behaviour): Record<string, string> {
  if (retryAfterDate !== undefined) {
    // The form has whole seconds only; rounded up, so that the wait is never shorter than asked.
    const second = Math.ceil(Date.now() / 1000) + retryAfterDate;
    return { 'retry-after': new Date(second * 1000).toUTCString() };
  }
  return seconds === undefined ? {} : { 'retry-after': String(seconds) };
}
