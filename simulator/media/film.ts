import { type Colour, picture, pictureParameters, sequenceParameters } from './h264.js';
import { encodeMp4 } from './mp4.js';
import { numbersFrom } from './numbers.js';

const COLUMNS = 10;
const ROWS = 6;
const MACROBLOCK = 16;
const FRAMES_PER_SECOND = 5;

/** Makes a small MP4 film: a bright block wanders over a gradient, always the same for one seed. */
export function makeFilm(seed: number, seconds: number): Buffer {
  const next = numbersFrom(seed);
  const [blue, red, row, step] = [16 + next(220), 16 + next(220), next(ROWS), 1 + next(3)];
  const pictures = Array.from({ length: seconds * FRAMES_PER_SECOND }, (_, frame) => {
    const colours = Array.from({ length: COLUMNS * ROWS }, (_, block): Colour => {
      const [x, y] = [block % COLUMNS, Math.floor(block / COLUMNS)];
      const isBright = y === row && x === (frame * step) % COLUMNS;
      return isBright ? [235, 128, 128] : [40 + x * 12 + y * 8, blue, red];
    });
    return picture(frame, colours);
  });
  return encodeMp4({
    width: COLUMNS * MACROBLOCK,
    height: ROWS * MACROBLOCK,
    framesPerSecond: FRAMES_PER_SECOND,
    sequenceParameters: sequenceParameters(COLUMNS, ROWS),
    pictureParameters: pictureParameters(),
    pictures,
  });
}
