import type { MediaType } from '../../provider/index.js';
import { typeOf } from '../../platform/storage/index.js';
import { ContentRefusedError } from './content.errors.js';

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
 * The type to hand a resource on as: the declared one, if it is of the category and the first bytes agree. Fails with
 * ContentRefusedError.
 */
export function contentType(type: MediaType, declared: string | undefined, head: Buffer): string {
  const name = declared?.split(';', 1)[0]?.trim().toLowerCase() ?? '';
  const formats = FORMATS[type];
  const expected = Object.hasOwn(formats, name) ? formats[name] : undefined;
  if (expected === undefined) {
    throw new ContentRefusedError(
      `The resource is not declared as a type of category ${type}, which are ${Object.keys(formats).join(', ')}.`,
    );
  }
  if (recognised(head) !== expected) {
    throw new ContentRefusedError(
      `The resource is declared as ${name}, but its first bytes are of something else.`,
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
