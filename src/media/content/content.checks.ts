import { ConflictError, DomainError, TooManyRequestsError } from '../../platform/error/index.js';
import { typeOf } from '../../platform/storage/index.js';
import { msg } from '../../platform/message/index.js';
import type { MediaType } from '../../provider/index.js';

/** A resource that is not proxied. The message gives the reason and contains no address. */
export class ContentRefusedError extends DomainError {
  readonly code = 500;
}

/** The task has nothing to fetch yet, or never will. */
export class ContentNotReadyError extends ConflictError {
  constructor(status: string | null) {
    super(
      msg`The task has no content: its status is ${status ?? 'unknown'}. There is content once it is completed.`,
      { data: { status } },
    );
  }
}

/** The memory for resources of unknown length is used up. */
export class ContentMemoryError extends TooManyRequestsError {
  constructor() {
    super(msg`Too many media resources are being fetched at the moment. Try again in a minute.`, {
      retryAfterSeconds: 60,
    });
  }
}

/** The two hosts that resources may come from, in the order of MEDIA_CONTENT_HOSTS. */
export type ContentHosts = readonly [imagesAndAudio: string, videos: string];

const DEFAULT_PORT = 443;

/** Host and port as written, before they are parsed: a host in any other spelling is not ours. */
const PLAIN = /^https:\/\/(?<host>[a-z\d.-]+)(?::(?<port>\d+))?(?:[/?][^#\s\\]*)?$/i;

/**
 * The address of a resource, if it is one of the category's fixed host: https, without user name, password and
 * fragment, on the default port. Fails with ContentRefusedError, which does not repeat the address.
 */
export function contentAddress(
  address: string,
  type: MediaType,
  { hosts, port = DEFAULT_PORT }: { readonly hosts: ContentHosts; readonly port?: number },
): string {
  const [imagesAndAudio, videos] = hosts;
  if (hostOf(address, port) !== (type === 'video' ? videos : imagesAndAudio)) {
    throw new ContentRefusedError(
      msg`The resource’s address is refused: its host is not the one for category ${type}. An operator sets it with MEDIA_CONTENT_HOSTS.`,
    );
  }
  return address;
}

/** The address, if it may be that of a resource whatever its host. Fails like contentAddress. */
export function publicAddress(address: string, port = DEFAULT_PORT): string {
  hostOf(address, port);
  return address;
}

/** The host of the address in lower case. */
function hostOf(address: string, port: number): string {
  const parts = PLAIN.exec(address)?.groups;
  if (!parts) {
    throw new ContentRefusedError(
      msg`The resource’s address is refused: it must be https, with a plain host name and without user name, fragment and white space.`,
    );
  }
  if (Number(parts['port'] ?? DEFAULT_PORT) !== port) {
    throw new ContentRefusedError(msg`The resource’s address is refused: its port must be 443.`);
  }
  return parts['host']?.toLowerCase() ?? '';
}

/** The first bytes that identify every format below. */
export const SIGNATURE_BYTES = 16;

/** The types that each category may be declared as, and what their first bytes are recognised as. */
const FORMATS: Record<MediaType, Readonly<Record<string, string>>> = {
  image: {
    'image/jpeg': 'image/jpeg',
    'image/png': 'image/png',
    'image/webp': 'image/webp',
    'image/gif': 'image/gif',
  },
  audio: {
    'audio/mpeg': 'audio/mpeg',
    'audio/wav': 'audio/wav',
    'audio/x-wav': 'audio/wav',
    'audio/ogg': 'audio/ogg',
    // Sound and film are in the same container.
    'audio/mp4': 'video/mp4',
    'audio/flac': 'audio/flac',
  },
  video: { 'video/mp4': 'video/mp4', 'video/webm': 'video/webm' },
};

/**
 * The type of the relayed resource: the declared one, if it is of the category and the first bytes agree. Fails with
 * ContentRefusedError.
 */
export function contentType(type: MediaType, declared: string | undefined, head: Buffer): string {
  const name = declared?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const formats = FORMATS[type];
  const expected = Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (expected === undefined) {
    throw new ContentRefusedError(
      msg`The resource is not declared as a type of category ${type}, which are ${Object.keys(formats).join(', ')}.`,
    );
  }
  if (recognised(head) !== expected) {
    throw new ContentRefusedError(
      msg`The resource is declared as ${name}, but its first bytes are of something else.`,
    );
  }
  return name;
}

function recognised(head: Buffer): string {
  return isMpegAudioFrame(head) ? 'audio/mpeg' : typeOf(head, '');
}

/**
 * The header of a frame of MPEG audio, layer III (ISO/IEC 11172-3, 2.4.1.3): what an MP3 without a tag begins with.
 * Such short signs prove little, which is why file-type does not know them; beside a declared type they are enough.
 */
function isMpegAudioFrame(head: Buffer): boolean {
  const [sync = 0, flags = 0, rates = 0] = head;
  const isSync = sync === 0xff && (flags & 0xe0) === 0xe0;
  const isLayerThree = (flags & 0x06) === 0x02;
  const isKnownVersion = (flags & 0x18) !== 0x08;
  const isKnownRate = (rates & 0xf0) !== 0xf0 && (rates & 0x0c) !== 0x0c;
  return isSync && isLayerThree && isKnownVersion && isKnownRate;
}
