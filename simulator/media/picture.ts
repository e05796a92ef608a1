import { encodePng } from './png.js';
import { numbersFrom } from './numbers.js';

const RECTANGLES = 5;

interface Rectangle {
  left: number;
  top: number;
  right: number;
  bottom: number;
  colour: readonly number[];
}

/** Draws a picture as PNG: a diagonal gradient with rectangles, always the same for one seed. */
export function drawPicture(seed: number, width: number, height: number): Buffer {
  const next = numbersFrom(seed);
  const colour = () => [next(256), next(256), next(256)];
  const [from, to] = [colour(), colour()];
  const rectangles = Array.from({ length: RECTANGLES }, (): Rectangle => {
    const [left, top] = [next(width), next(height)];
    const [right, bottom] = [left + 1 + next(width / 2), top + 1 + next(height / 2)];
    return { left, top, right, bottom, colour: colour() };
  });
  const pixels = Buffer.alloc(width * height * 3);
  for (let y = 0; y < height; y += 1) {
    for (let x = 0; x < width; x += 1) {
      const share = (x / width + y / height) / 2;
      const at = (y * width + x) * 3;
      const cover = rectangles.findLast((area) => contains(area, x, y));
      for (let channel = 0; channel < 3; channel += 1) {
        const start = from[channel] ?? 0;
        const ground = start + ((to[channel] ?? 0) - start) * share;
        pixels[at + channel] = cover ? (ground + (cover.colour[channel] ?? 0)) / 2 : ground;
      }
    }
  }
  return encodePng(width, height, pixels);
}

function contains({ left, top, right, bottom }: Rectangle, x: number, y: number): boolean {
  return x >= left && x < right && y >= top && y < bottom;
}
