import { numbersFrom } from './numbers.js';

const SAMPLE_RATE = 16_000;
const HEADER_BYTES = 44;
const NOTE_SECONDS = 0.18;
const LOWEST_HERTZ = 220;
/** Semitones of two octaves of the pentatonic scale, in which any order sounds well. */
const SCALE = [0, 3, 5, 7, 10, 12, 15, 17, 19, 22];

/** Plays as many tones as asked as WAV (PCM, 16 bit, mono), always the same for one seed. */
export function playMelody(seed: number, notes: number): Buffer {
  const next = numbersFrom(seed);
  const perNote = Math.round(SAMPLE_RATE * NOTE_SECONDS);
  const samples = Buffer.alloc(notes * perNote * 2);
  for (let note = 0; note < notes; note += 1) {
    const hertz = LOWEST_HERTZ * 2 ** ((SCALE[next(SCALE.length)] ?? 0) / 12);
    for (let i = 0; i < perNote; i += 1) {
      // Each tone swells and fades, so that none starts or ends with a click.
      const loudness = Math.sin((Math.PI * i) / perNote) * 0.4;
      const value = Math.sin((2 * Math.PI * hertz * i) / SAMPLE_RATE) * loudness;
      samples.writeInt16LE(Math.round(value * 32_767), (note * perNote + i) * 2);
    }
  }
  return Buffer.concat([wavHeader(samples.length), samples]);
}

function wavHeader(dataBytes: number): Buffer {
  const header = Buffer.alloc(HEADER_BYTES);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(HEADER_BYTES - 8 + dataBytes, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  header.writeUInt32LE(16, 16); // length of the format part
  header.writeUInt16LE(1, 20); // PCM
  header.writeUInt16LE(1, 22); // channels
  header.writeUInt32LE(SAMPLE_RATE, 24);
  header.writeUInt32LE(SAMPLE_RATE * 2, 28); // bytes a second
  header.writeUInt16LE(2, 32); // bytes a sample
  header.writeUInt16LE(16, 34); // bits a sample
  header.write('data', 36, 'latin1');
  header.writeUInt32LE(dataBytes, 40);
  return header;
}
