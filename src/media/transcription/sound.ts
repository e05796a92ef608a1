/** The properties of a sound, read from the bytes of its file. */
export interface Sound {
  readonly mimeType: string;
  /** Services go by the ending of the name. */
  readonly ending: string;
  /** The declared length, else an estimate from the size. The service that reads the file may count otherwise. */
  readonly seconds: number;
}

/** Bytes of a second where a file does not declare its length: speech of 32 kbit/s. */
const USUAL_BYTES_PER_SECOND = 4_000;
const MAX_SECONDS = 1_000_000;

type Reader = (bytes: Buffer) => number | undefined;

/** Formats that transcription services take, by their first bytes, read as Latin-1. Videos have a sound as well. */
const FORMATS: readonly (readonly [
  begin: RegExp,
  mimeType: string,
  ending: string,
  length?: Reader,
])[] = [
  [/^RIFF[^]{4}WAVE/, 'audio/wav', 'wav', secondsOfWave],
  [/^fLaC/, 'audio/flac', 'flac', secondsOfFlac],
  [/^OggS/, 'audio/ogg', 'ogg', secondsOfOgg],
  [/^[^]{4}ftyp/, 'audio/mp4', 'm4a', secondsOfMp4],
  [/^\x1a\x45\xdf\xa3/, 'audio/webm', 'webm'],
  [/^ID3/, 'audio/mpeg', 'mp3', secondsOfMp3],
  // Layer 0 is that of AAC.
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'audio/aac', 'aac'],
  [/^\xff[\xe2-\xff]/, 'audio/mpeg', 'mp3', secondsOfMp3],
  [/^FORM[^]{4}AIF[FC]/, 'audio/aiff', 'aiff'],
  [/^#!AMR/, 'audio/amr', 'amr'],
];

/** The sound of a file; undefined for other files. */
export function soundIn(bytes: Buffer): Sound | undefined {
  const begin = bytes.toString('latin1', 0, 12);
  const format = FORMATS.find(([pattern]) => pattern.test(begin));
  if (!format) return undefined;
  const [, mimeType, ending, read] = format;
  const declared = read?.(bytes);
  const isLength = declared !== undefined && declared > 0 && declared < MAX_SECONDS;
  return { mimeType, ending, seconds: isLength ? declared : bytes.length / USUAL_BYTES_PER_SECOND };
}

function secondsOfWave(bytes: Buffer): number | undefined {
  const at = bytes.subarray(0, 4_096).indexOf('fmt ');
  if (at < 0 || bytes.length < at + 20) return undefined;
  // A truncated recording declares a wrong length more often than the file has one.
  return (bytes.length - at) / bytes.readUInt32LE(at + 16);
}

/** STREAMINFO (RFC 9639, 8.2): 20 bits of the rate, 3 and 5 of others, 36 of the number of samples. */
function secondsOfFlac(bytes: Buffer): number | undefined {
  if (bytes.length < 26) return undefined;
  const rate = bytes.readUIntBE(18, 3) >> 4;
  const samples = (bytes.readUInt8(21) & 0x0f) * 2 ** 32 + bytes.readUInt32BE(22);
  return samples / rate;
}

/** The position of the last page (RFC 3533, 6); Opus counts 48,000 a second (RFC 7845, 4), Vorbis says its rate. */
function secondsOfOgg(bytes: Buffer): number | undefined {
  const last = bytes.lastIndexOf('OggS');
  if (last < 0 || bytes.length < last + 14) return undefined;
  const vorbis = bytes.subarray(0, 256).indexOf('\x01vorbis', 0, 'latin1');
  const rate = vorbis >= 0 && bytes.length > vorbis + 16 ? bytes.readUInt32LE(vorbis + 12) : 48_000;
  return Number(bytes.readBigInt64LE(last + 6)) / rate;
}

/** The movie header (ISO/IEC 14496-12, 8.2.2). */
function secondsOfMp4(bytes: Buffer): number | undefined {
  const at = bytes.indexOf('mvhd');
  if (at < 0 || bytes.length < at + 36) return undefined;
  const isLong = bytes.readUInt8(at + 4) === 1;
  const scale = bytes.readUInt32BE(at + (isLong ? 24 : 16));
  const length = isLong ? Number(bytes.readBigUInt64BE(at + 28)) : bytes.readUInt32BE(at + 20);
  return length / scale;
}

/** kbit/s of layer III, by the index of the header: of MPEG-1, and of the others. */
const RATES_1 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320];
const RATES_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];

/** The length at the bit rate of the first frame, after a tag. */
function secondsOfMp3(bytes: Buffer): number | undefined {
  let at = 0;
  if (bytes.toString('latin1', 0, 3) === 'ID3' && bytes.length > 10) {
    const [a = 0, b = 0, c = 0, d = 0] = bytes.subarray(6, 10);
    at = 10 + (a << 21) + (b << 14) + (c << 7) + d;
  }
  if (bytes.length < at + 4 || bytes[at] !== 0xff) return undefined;
  const isFirst = ((bytes[at + 1] ?? 0) & 0x18) === 0x18;
  const rate = (isFirst ? RATES_1 : RATES_2)[(bytes[at + 2] ?? 0) >> 4];
  return rate ? (bytes.length - at) / (rate * 125) : undefined;
}
