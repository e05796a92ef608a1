interface SoundFormat {
  readonly mimeType: string;
  /** What such a file begins with, where that is sure. */
  readonly beginning?: RegExp;
}

const FORMATS: ReadonlyMap<string, SoundFormat> = new Map([
  ['mp3', { mimeType: 'audio/mpeg', beginning: /^ID3/ }],
  ['opus', { mimeType: 'audio/opus' }],
  ['aac', { mimeType: 'audio/aac' }],
  ['flac', { mimeType: 'audio/flac', beginning: /^fLaC/ }],
  ['wav', { mimeType: 'audio/wav', beginning: /^RIFF[^]{4}WAVE/ }],
  ['pcm', { mimeType: 'audio/pcm' }],
]);
const LONGEST_BEGINNING = 12;

/**
 * The type of a sound: that of the format which its first bytes name, since some services have one format whatever is
 * asked for; else that of the format asked for, audio/mpeg if it is none of these.
 */
export function soundType(asked: string, bytes: Buffer): string {
  const beginning = bytes.toString('latin1', 0, LONGEST_BEGINNING);
  const named = [...FORMATS.values()].find((format) => format.beginning?.test(beginning));
  return (named ?? FORMATS.get(asked.toLowerCase()))?.mimeType ?? 'audio/mpeg';
}
