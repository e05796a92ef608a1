import { getDocumentProxy } from 'unpdf';
import { BlockWriter } from './table-writer.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { CharacterMaps } from './pdf-character-maps.js';
import { Refusal, refuseTooManyPages } from './document-source.js';
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

/** The text of a PDF page by page, with a paragraph wherever the lines stand further apart. */
export async function readPdf(bytes: Buffer, limits: ReadLimits): Promise<ReadDocument> {
  const document = await open(bytes);
  try {
    const { numPages: pages } = document;
    refuseTooManyPages({ pages, of: 'PDF', unit: 'pages' }, limits);
    const writer = new BlockWriter();
    const pageStarts: number[] = [];
    for (let number = 1; number <= pages; number += 1) {
      writer.separate();
      pageStarts.push(writer.position);
      const page = await document.getPage(number);
      for (const paragraph of await paragraphsOf(page)) writer.paragraph(paragraph);
      page.cleanup();
    }
    const { text, blocks } = writer.end();
    if (text.trim() === '') throw new ScannedPdf();
    return { source: { kind: 'document', text, blocks, pageStarts }, pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

class ScannedPdf extends Refusal {
  constructor() {
    super(
      'No page of the PDF holds text that can be read; it probably consists of scanned images. Run OCR (text recognition) over it and upload the result.',
    );
  }
}

async function open(bytes: Buffer): Promise<Document> {
  try {
    // A copy, because the reader keeps or detaches what it is given.
    return await getDocumentProxy(new Uint8Array(bytes), {
      verbosity: 0,
      useSystemFonts: false,
      useWorkerFetch: false,
      cMapPacked: false,
      cMapUrl: 'made/',
      BinaryDataFactory: CharacterMaps,
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
