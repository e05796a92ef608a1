import { z } from 'zod';
import { msg } from '../../../platform/message/index.js';
import { isRecord, errorInAnswer } from '../vendor-json.js';
import { withoutSecrets } from '../safe-text.js';
import type { Secrets } from '../safe-text.js';
import { UpstreamError } from '../upstream.error.js';
import type { MediaResult, MediaType } from './media.adapter.js';
import { typeOfLink, USUAL_TYPE } from './media-type.js';

/** The medium in an answer: a link, the medium itself, or neither. */
type Medium = Partial<Pick<MediaResult, 'url' | 'b64Json' | 'dataUrl' | 'mimeType'>>;

/** The content of an answer, in terms that all services share. */
interface Finding {
  readonly type: MediaType;
  readonly medium: Medium;
  readonly id?: string | null | undefined;
  readonly status?: string | null | undefined;
  readonly lastFrameUrl?: string | null | undefined;
}

const DATA_URL = /^data:((?:image|audio|video)\/[\w.+-]+);base64,/;

/**
 * The result of an answer. `requestedId` is the id of a task that was looked up, which not every service repeats. Throws
 * UpstreamError if there is neither a medium nor a task to look up.
 */
export function toMediaResult(
  { type, medium, id, status, lastFrameUrl }: Finding,
  answer: unknown,
  secrets: Secrets,
  requestedId?: string,
): MediaResult {
  const hasMedium = isGiven(medium.url) || isGiven(medium.dataUrl);
  const says = hasMedium || isGiven(status);
  const taskId = isGiven(id) ? id : says ? (requestedId ?? null) : null;
  if (!hasMedium && taskId === null) throw emptyResult(type, answer, secrets);
  return {
    ...emptyMediaResult(type),
    mimeType: typeOfLink(type, medium.url),
    ...medium,
    id: taskId,
    status: isGiven(status) ? status : null,
    lastFrameUrl: linkIn(lastFrameUrl),
    rawResponse: rawResponseOf(answer, secrets),
  };
}

/** A result that holds nothing but its type. */
export function emptyMediaResult(type: MediaType): MediaResult {
  return {
    type,
    mimeType: USUAL_TYPE[type],
    url: null,
    b64Json: null,
    dataUrl: null,
    id: null,
    status: null,
    lastFrameUrl: null,
    rawResponse: null,
  };
}

/** The medium behind a link. Some services put the medium itself into a data address; any other scheme counts as nothing. */
export function linkedMedium(link: string | null | undefined): Medium {
  const text = link?.trim() ?? '';
  const mimeType = DATA_URL.exec(text)?.[1];
  if (mimeType === undefined) return { url: linkIn(text) };
  return { mimeType, b64Json: text.slice(text.indexOf(',') + 1), dataUrl: text };
}

/** A medium that came as base64; `typeOf` says what it is. */
export function embeddedMedium(
  base64: string | null | undefined,
  typeOf: (base64: string) => string,
): Medium {
  const b64Json = base64?.trim() ?? '';
  if (b64Json === '') return {};
  if (b64Json.startsWith('data:')) return linkedMedium(b64Json);
  const mimeType = typeOf(b64Json);
  return { mimeType, b64Json, dataUrl: `data:${mimeType};base64,${b64Json}` };
}

/** The error of an answer without a result: the error in it, or that it is empty. */
export function emptyResult(type: MediaType, answer: unknown, secrets: Secrets): UpstreamError {
  if (isRecord(answer)) {
    const { error, code } = answer;
    if (isRecord(error) || (typeof error === 'string' && error !== '')) {
      return errorInAnswer(error, secrets);
    }
    // The envelope of some services, whose HTTP status is 200 for errors, too.
    if (isGiven(code) && ![0, 200].includes(Number(code))) return errorInAnswer(answer, secrets);
  }
  return new UpstreamError({
    kind: 'protocol',
    message: msg`The provider answered an empty result: no ${type}, and no task that can be looked up. Try again, and check that the model makes media of this kind.`,
  });
}

function isGiven<T>(value: T | null | undefined): value is T {
  return value !== undefined && value !== null && value !== '';
}

function linkIn(text: string | null | undefined): string | null {
  const link = text?.trim() ?? '';
  return /^https?:\/\//i.test(link) ? link : null;
}

const MAX_TEXT_CHARS = 64 * 1024;
/** Longer texts of only these characters are media: an id is shorter, and an address has others. */
const MAX_ENCODED_CHARS = 2_048;
const SHOWN_OF_ENCODED = 64;
const ENCODED = /^(?:data:[^,]*,)?[\w+/=\r\n-]*$/;

/** A service's JSON answer as text for diagnosis: without credentials, with embedded media cut to their beginning. */
export function rawResponseOf(answer: unknown, secrets: Secrets): string {
  const text = JSON.stringify(answer, shortened);
  // Cut first, which bounds the work on a hostile answer; of a secret at the cut, the part left is removed, too.
  const safe = withoutSecrets(text.slice(0, MAX_TEXT_CHARS), secrets);
  return text.length <= MAX_TEXT_CHARS ? safe : `${safe}…`;
}

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= MAX_ENCODED_CHARS || !ENCODED.test(value)) {
    return value;
  }
  return `${value.slice(0, SHOWN_OF_ENCODED)}… (${value.length} characters)`;
}

/** Fields of media services. One of another type counts as absent, because services differ in what is not essential. */
export const wireText = z.string().nullish().catch(null);
/** Some services number their tasks. */
export const wireId = z
  .union([z.string(), z.number().transform(String)])
  .nullish()
  .catch(null);
