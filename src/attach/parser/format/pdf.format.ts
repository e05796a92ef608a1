import { getDocumentProxy } from 'unpdf';
import { BlockWriter } from './table-writer.js';
import { OPS } from 'unpdf/pdfjs';
import type { ReadDocument, ReadLimits, RecognisedPages } from './document-source.js';
import { CharacterMaps } from './pdf-character-maps.js';
import { Refusal, UnreadPages } from './document-source.js';
import { writeRecognised } from './recognised-page.js';
import { storable } from './text/text-encoding.js';

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;
type Page = Awaited<ReturnType<Document['getPage']>>;
type Item = Awaited<ReturnType<Page['getTextContent']>>['items'][number];

interface Line {
  readonly text: string;
  /** Of its base line, from the bottom of the page. */
  readonly y: number;
}

/** A gap this much above the usual one of the page begins a paragraph. */
const PARAGRAPH_GAP = 1.3;

/**
 * The text of a PDF page by page, with a paragraph wherever the lines stand further apart. A page without text has the
 * recognised one; with `recognised`, throws UnreadPages for those that show something and are not in it.
 */
export async function readPdf(
  bytes: Buffer,
  limits: ReadLimits,
  recognised?: RecognisedPages,
): Promise<ReadDocument> {
  const document = await openPdf(bytes);
  try {
    const { numPages: pages } = document;
    if (pages > limits.pages) {
      throw new Refusal(
        `The PDF has ${pages} pages, the limit is ${limits.pages} (PARSE_PAGES). Split it into several files.`,
      );
    }
    const writer = new BlockWriter();
    const pageStarts: number[] = [];
    const unread: number[] = [];
    for (let number = 1; number <= pages; number += 1) {
      writer.separate();
      pageStarts.push(writer.position);
      const read = recognised?.get(number);
      if (read) {
        writeRecognised(writer, read);
        continue;
      }
      const page = await document.getPage(number);
      const before = writer.position;
      for (const paragraph of await paragraphsOf(page)) writer.paragraph(paragraph);
      const isEmpty = writer.position === before;
      if (recognised && isEmpty && (await showsSomething(page))) unread.push(number);
      page.cleanup();
    }
    if (unread.length > 0) throw new UnreadPages(unread, pages);
    const { text, blocks } = writer.end();
    if (text.trim() === '') throw recognised ? new EmptyPdf() : new ScannedPdf();
    return { source: { kind: 'document', text, blocks, pageStarts }, pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

class ScannedPdf extends Refusal {
  constructor() {
    super(
      'No page of the PDF holds text that can be read; it probably consists of scanned images. Switch on text recognition (enableOcr) in the settings of the knowledge base and parse the document again, or run OCR over it and upload the result.',
    );
  }
}

class EmptyPdf extends Refusal {
  constructor() {
    super('Text recognition found no text on any page of the PDF. Upload one that holds text.');
  }
}

/** Opens a PDF for reading, with the options that are given in addition. The caller destroys its loading task. */
export async function openPdf(
  bytes: Buffer,
  options: Parameters<typeof getDocumentProxy>[1] = {},
): Promise<Document> {
  try {
    // A copy, because the reader keeps or detaches what it is given.
    return await getDocumentProxy(new Uint8Array(bytes), {
      verbosity: 0,
      useSystemFonts: false,
      useWorkerFetch: false,
      cMapPacked: false,
      cMapUrl: 'made/',
      BinaryDataFactory: CharacterMaps,
      ...options,
    });
  } catch (error) {
    if (error instanceof Error && error.name === 'PasswordException') {
      throw new Refusal(
        'The PDF is protected by a password. Remove the password (print or export it as a new PDF) and upload that.',
      );
    }
    throw error;
  }
}

/** The operators of PDF.js that make something visible, and are not of text. */
const MARKS: readonly number[] = [
  OPS.shadingFill,
  OPS.constructPath,
  OPS.rawFillPath,
  OPS.paintImageMaskXObject,
  OPS.paintImageMaskXObjectGroup,
  OPS.paintImageMaskXObjectRepeat,
  OPS.paintImageXObject,
  OPS.paintImageXObjectRepeat,
  OPS.paintInlineImageXObject,
  OPS.paintInlineImageXObjectGroup,
  OPS.paintSolidColorImageMask,
];

/** Whether an image or a path is drawn on the page: an empty one costs no recognition. */
async function showsSomething(page: Page): Promise<boolean> {
  const { fnArray } = await page.getOperatorList();
  return fnArray.some((operator) => MARKS.includes(operator));
}

async function paragraphsOf(page: Page): Promise<string[]> {
  const { items } = await page.getTextContent();
  const lines = linesOf(items);
  const usual = usualGap(lines);
  const paragraphs: string[] = [];
  let previous: Line | undefined;
  for (const line of lines) {
    const last = paragraphs.at(-1);
    const apart = previous === undefined || previous.y - line.y > usual * PARAGRAPH_GAP;
    if (apart || last === undefined) paragraphs.push(line.text);
    else paragraphs[paragraphs.length - 1] = `${last}\n${line.text}`;
    previous = line;
  }
  return paragraphs;
}

function linesOf(items: readonly Item[]): Line[] {
  const lines: Line[] = [];
  let text = '';
  let y: number | undefined;
  for (const item of items) {
    // The others mark structure only.
    if (!('str' in item)) continue;
    text += item.str;
    if (item.str.trim() !== '') y ??= baseLine(item.transform);
    if (!item.hasEOL) continue;
    if (y !== undefined) lines.push({ text: storable(text).trimEnd(), y });
    text = '';
    y = undefined;
  }
  if (y !== undefined) lines.push({ text: storable(text).trimEnd(), y });
  return lines;
}

/** The last number of a PDF matrix: the offset upwards. */
function baseLine(transform: readonly unknown[]): number {
  const offset = transform[5];
  return typeof offset === 'number' ? offset : 0;
}

/** The median of the gaps between lines; of those below another, for a new column begins above. */
function usualGap(lines: readonly Line[]): number {
  const gaps = lines
    .map(({ y }, index) => (lines[index - 1]?.y ?? 0) - y)
    .filter((gap, index) => index > 0 && gap > 0)
    .sort((a, b) => a - b);
  return gaps[Math.floor((gaps.length - 1) / 2)] ?? 0;
}
