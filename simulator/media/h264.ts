import { BitWriter } from './bit-writer.js';

const MACROBLOCK = 16;
const BASELINE_PROFILE = 66;
const CONSTRAINTS = 0xc0;
const LEVEL = 30;
const I_SLICE = 7;
const UNCOMPRESSED_MACROBLOCK = 25;

/** A colour as luma and the two chroma differences, each 16 to 235. */
export type Colour = readonly [luma: number, blue: number, red: number];

/** The sequence parameters for pictures of this many macroblocks. */
export function sequenceParameters(columns: number, rows: number): Buffer {
  const bits = new BitWriter()
    .bits(BASELINE_PROFILE, 8)
    .bits(CONSTRAINTS, 8)
    .bits(LEVEL, 8)
    .numbers(0, 0) // id; 4 bits for the frame number
    .number(2) // pictures are shown in the order they are coded
    .number(0) // no reference frames
    .bits(0, 1)
    .numbers(columns - 1, rows - 1)
    .bits(0b11, 2) // whole frames; direct 8x8 inference
    .bits(0b00, 2); // no cropping, no usability information
  return unit(0x67, bits.finish());
}

export function pictureParameters(): Buffer {
  const bits = new BitWriter()
    .numbers(0, 0) // own id, id of the sequence parameters
    .bits(0b00, 2) // variable-length coding
    .numbers(0, 0, 0) // one slice group, one reference each
    .bits(0b000, 3) // no weighted prediction
    .numbers(0, 0, 0) // quantisers
    .bits(0b100, 3); // slices say whether they are deblocked
  return unit(0x68, bits.finish());
}

/** One picture that stands alone, each macroblock in one colour and stored uncompressed. */
export function picture(index: number, colours: readonly Colour[]): Buffer {
  const bits = new BitWriter()
    .numbers(0, I_SLICE, 0) // first macroblock, type, picture parameters
    .bits(0, 4) // frame number
    .number(index % 2) // neighbouring pictures of this kind must differ in their id
    .bits(0b00, 2) // reference marking
    .numbers(0, 1); // quantiser difference; no deblocking
  for (const [luma, blue, red] of colours) {
    bits.number(UNCOMPRESSED_MACROBLOCK).alignWithZeros();
    bits.raw(luma, MACROBLOCK ** 2);
    bits.raw(blue, MACROBLOCK ** 2 / 4).raw(red, MACROBLOCK ** 2 / 4);
  }
  return unit(0x65, bits.finish());
}

/** Inserts the byte that keeps a start code from appearing inside a unit. */
function unit(header: number, payload: Buffer): Buffer {
  const bytes = [header];
  let zeros = 0;
  for (const byte of payload) {
    if (zeros >= 2 && byte <= 3) {
      bytes.push(3);
      zeros = 0;
    }
    bytes.push(byte);
    zeros = byte === 0 ? zeros + 1 : 0;
  }
  return Buffer.from(bytes);
}
