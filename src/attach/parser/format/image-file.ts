import { msg } from '../../../platform/message/index.js';
import type { ReadDocument, RecognisedPages } from './document-source.js';
import { Refusal, UnreadPages } from './document-source.js';
import { writeRecognised } from './recognised-page.js';
import { BlockWriter } from './table-writer.js';

/** First bytes of the readable images. Without PDF.js and the canvas, which every parser process would load with it. */
const IMAGES: readonly ((bytes: Buffer) => boolean)[] = [
  // PNG
  (bytes) => bytes.subarray(0, 8).equals(Buffer.from('89504e470d0a1a0a', 'hex')),
  // JPEG
  (bytes) => bytes.subarray(0, 3).equals(Buffer.from('ffd8ff', 'hex')),
  // WebP
  (bytes) =>
    bytes.toString('latin1', 0, 4) === 'RIFF' && bytes.toString('latin1', 8, 12) === 'WEBP',
];

/** Whether the file is an image whose text can be recognised: PNG, JPEG or WebP. */
export function isImage(bytes: Buffer): boolean {
  return IMAGES.some((is) => is(bytes));
}

/** An image as a document of one page. */
export function readImage(recognised: RecognisedPages | undefined): ReadDocument {
  if (!recognised) throw new Refusal(IMAGE_WITHOUT_RECOGNITION);
  const page = recognised.get(1);
  if (!page) throw new UnreadPages([1], 1);
  const writer = new BlockWriter();
  writeRecognised(writer, page);
  const { text, blocks } = writer.end();
  if (text.trim() === '') {
    throw new Refusal(
      msg`Text recognition found no text in the image. Upload one that holds text.`,
    );
  }
  return { source: { kind: 'document', text, blocks, pageStarts: [0] }, pages: 1 };
}

export const IMAGE_WITHOUT_RECOGNITION = msg`An image holds no text by itself. Switch on text recognition (enableOcr) in the settings of the knowledge base and parse the document again, or run OCR over the image and upload the resulting PDF.`;
