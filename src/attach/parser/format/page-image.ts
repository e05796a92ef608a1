import type { Canvas } from '@napi-rs/canvas';
import { createIsomorphicCanvasFactory } from 'unpdf';
import { msg } from '../../../platform/message/index.js';
import { Refusal } from './document-source.js';
import { isImage } from './image-file.js';
import { openPdf } from './pdf.format.js';

/** The image of one page, for text recognition. */
export interface PageImage {
  /** Page number, from 1. */
  readonly page: number;
  /** A PNG. */
  readonly bytes: Uint8Array;
}

interface Rendering {
  readonly pages: readonly number[];
  /** Length of the longer side, in pixels. */
  readonly longestSide: number;
}

/** Renders pages as PNG with this longest side; an image file, whose only page is 1, is not enlarged. */
export async function* renderPages(bytes: Buffer, how: Rendering): AsyncGenerator<PageImage> {
  if (isImage(bytes)) yield { page: 1, bytes: await scaledImage(bytes, how.longestSide) };
  else yield* renderPdf(bytes, how);
}

async function* renderPdf(
  bytes: Buffer,
  { pages, longestSide }: Rendering,
): AsyncGenerator<PageImage> {
  const CanvasFactory = await createIsomorphicCanvasFactory(() => import('@napi-rs/canvas'));
  const document = await openPdf(bytes, { CanvasFactory });
  try {
    for (const number of pages) {
      const page = await document.getPage(number);
      const { width, height } = page.getViewport({ scale: 1 });
      const viewport = page.getViewport({ scale: longestSide / Math.max(width, height, 1) });
      const { createCanvas } = await import('@napi-rs/canvas');
      const canvas = createCanvas(pixels(viewport.width), pixels(viewport.height));
      await page.render({ canvas, canvasContext: canvas.getContext('2d'), viewport }).promise;
      if (!isComplete(page.objs) || !isComplete(page.commonObjs)) {
        throw new UnknownCompression(number);
      }
      page.cleanup();
      yield { page: number, bytes: await pngOf(canvas) };
    }
  } finally {
    await document.loadingTask.destroy();
  }
}

/** PDF.js leaves out an image that it cannot decode: its data is null then. */
function isComplete(objects: Iterable<readonly unknown[]>): boolean {
  return [...objects].every(([, data]) => data !== null);
}

class UnknownCompression extends Refusal {
  constructor(page: number) {
    super(
      msg`The image of page ${page} is compressed as JBIG2, CCITT fax or JPEG 2000, which cannot be decoded here. Export the pages as PNG or JPEG, or run OCR over the PDF, and upload the result.`,
    );
  }
}

async function scaledImage(bytes: Buffer, longestSide: number): Promise<Uint8Array> {
  const { createCanvas, loadImage } = await import('@napi-rs/canvas');
  const image = await loadImage(bytes);
  const scale = Math.min(1, longestSide / Math.max(image.width, image.height, 1));
  const canvas = createCanvas(pixels(image.width * scale), pixels(image.height * scale));
  const context = canvas.getContext('2d');
  // Transparent pixels become white.
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  return pngOf(canvas);
}

async function pngOf(canvas: Canvas): Promise<Uint8Array> {
  return canvas.encode('png');
}

function pixels(length: number): number {
  return Math.max(1, Math.round(length));
}
