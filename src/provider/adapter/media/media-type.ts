import type { MediaType } from './media.adapter.js';

/** The type of a medium of which nothing else is known. */
export const USUAL_TYPE: Readonly<Record<MediaType, string>> = {
  image: 'image/png',
  audio: 'audio/mpeg',
  video: 'video/mp4',
};

/** Media types by file extension. The audio extensions are also the format names of speech requests. */
const byEnding: Readonly<Record<MediaType, ReadonlyMap<string, string>>> = {
  image: new Map([
    ['png', 'image/png'],
    ['jpg', 'image/jpeg'],
    ['jpeg', 'image/jpeg'],
    ['webp', 'image/webp'],
    ['gif', 'image/gif'],
    ['avif', 'image/avif'],
    ['bmp', 'image/bmp'],
  ]),
  audio: new Map([
    ['mp3', 'audio/mpeg'],
    ['wav', 'audio/wav'],
    ['ogg', 'audio/ogg'],
    ['oga', 'audio/ogg'],
    ['opus', 'audio/opus'],
    ['aac', 'audio/aac'],
    ['flac', 'audio/flac'],
    ['m4a', 'audio/mp4'],
    ['mp4', 'audio/mp4'],
    ['webm', 'audio/webm'],
    ['pcm', 'audio/pcm'],
  ]),
  video: new Map([
    ['mp4', 'video/mp4'],
    ['m4v', 'video/mp4'],
    ['webm', 'video/webm'],
    ['mov', 'video/quicktime'],
    ['mkv', 'video/x-matroska'],
  ]),
};

/** Media types by the first bytes, read as Latin-1, where those are conclusive. */
const byBeginning: Readonly<Record<'image' | 'audio', readonly (readonly [RegExp, string])[]>> = {
  image: [
    [/^\x89PNG/, 'image/png'],
    [/^\xff\xd8\xff/, 'image/jpeg'],
    [/^GIF8/, 'image/gif'],
    [/^RIFF[^]{4}WEBP/, 'image/webp'],
  ],
  audio: [
    [/^RIFF[^]{4}WAVE/, 'audio/wav'],
    [/^fLaC/, 'audio/flac'],
    [/^OggS/, 'audio/ogg'],
    [/^ID3/, 'audio/mpeg'],
    [/^[^]{4}ftyp/, 'audio/mp4'],
  ],
};

/** Bytes that tell the formats above. */
const BEGINNING = 12;

/** The type of what is behind a link, by the ending of its path; the usual one where that says nothing. */
export function typeOfLink(type: MediaType, link: string | null | undefined): string {
  const path = URL.parse(link ?? '')?.pathname ?? '';
  const ending = /\.(\w+)$/.exec(path)?.[1]?.toLowerCase() ?? '';
  return byEnding[type].get(ending) ?? USUAL_TYPE[type];
}

/** The type of an embedded image. */
export function typeOfImage(base64: string): string {
  const bytes = Buffer.from(base64.slice(0, 2 * BEGINNING), 'base64');
  return typeOfBeginning('image', bytes) ?? USUAL_TYPE.image;
}

/**
 * The type of a sound that was asked for in a format: what its first bytes say, since some services have one format
 * whatever is asked for; else that of the format.
 */
export function typeOfSound(bytes: Buffer, format: string): string {
  const requestedType = byEnding.audio.get(format.trim().toLowerCase());
  const detectedType = typeOfBeginning('audio', bytes);
  // Opus comes in the container of Ogg.
  if (requestedType === 'audio/opus' && detectedType === 'audio/ogg') return requestedType;
  return detectedType ?? requestedType ?? USUAL_TYPE.audio;
}

/** The ending and type of an image that services read; undefined for anything else. */
export function imageFileType(bytes: Buffer): { mimeType: string; ending: string } | undefined {
  const mimeType = typeOfBeginning('image', bytes);
  if (mimeType === undefined) return undefined;
  return { mimeType, ending: mimeType.replace(/^image\//, '').replace('jpeg', 'jpg') };
}

function typeOfBeginning(type: 'image' | 'audio', bytes: Buffer): string | undefined {
  const beginning = bytes.toString('latin1', 0, BEGINNING);
  return byBeginning[type].find(([pattern]) => pattern.test(beginning))?.[1];
}
