import { getDocumentProxy } from 'unpdf';
import { OPS } from 'unpdf/pdfjs';
import { msg, phrase } from '../../../platform/message/index.js';
import type { ReadDocument, ReadLimits, RecognisedPages } from './document-source.js';
import { CharacterMaps } from './pdf-character-maps.js';
import { Refusal, refuseTooManyPages, UnreadPages } from './document-source.js';
import { DocumentWriter } from './pdf/document-writer.js';
import { readSheets } from './pdf/page-glyphs.js';
import type { PdfDocument, PdfPage, Rule } from './pdf/page-glyphs.js';
import { blocksOf } from './pdf/page-layout.js';
import type { PageBlock } from './pdf/page-layout.js';
import { segmentsOf } from './pdf/page-lines.js';
import type { Segment } from './pdf/page-lines.js';
import { joinedRules, ruledTables } from './pdf/ruled-tables.js';
import type { Table } from './pdf/ruled-tables.js';
import { withoutRunningLines } from './pdf/running-lines.js';

/** More lines than this across a page belong to a drawing. */
const RULE_LIMIT = 400;

interface PageText {
  readonly segments: readonly Segment[];
  readonly tables: readonly Table[];
  readonly rules: readonly Rule[];
  /** Text that is written in other directions. */
  readonly turned: readonly (readonly Segment[])[];
}

const NO_TEXT: PageText = { segments: [], tables: [], rules: [], turned: [] };

function isEmpty({ segments, tables, turned }: PageText): boolean {
  return segments.length + tables.length + turned.flat().length === 0;
}

/**
 * The text of a PDF in the order in which it is read, page by page: columns one after the other, the rows of tables,
 * paragraphs wherever the lines stand further apart. Headers, footers and page numbers are left out. A page
 * without text has the recognised one; with `recognised`, throws UnreadPages for those that show something and are not in it.
 */
export async function readPdf(
  bytes: Buffer,
  limits: ReadLimits,
  recognised?: RecognisedPages,
): Promise<ReadDocument> {
  // Images that are left out would not be among the operators, by which a page without text is known to show something.
  const options = { disableFontFace: false, maxImageSize: recognised ? -1 : 1 };
  const document = await openPdf(bytes, options);
  try {
    const { numPages: pages } = document;
    refuseTooManyPages({ pages, of: phrase`PDF`, unit: phrase`pages` }, limits);
    const texts: PageText[] = [];
    const unread: number[] = [];
    for (let number = 1; number <= pages; number += 1) {
      if (recognised?.has(number)) {
        texts.push(NO_TEXT);
        continue;
      }
      const page = await document.getPage(number);
      const text = await textOf(page);
      texts.push(text);
      if (recognised && isEmpty(text) && (await showsSomething(page))) unread.push(number);
      page.cleanup();
    }
    if (unread.length > 0) throw new UnreadPages(unread, pages);
    const writer = new DocumentWriter();
    withoutRunningLines(texts).forEach((segments, index) => {
      const text = texts[index];
      if (text) writer.page(layoutOf({ ...text, segments }), recognised?.get(index + 1));
    });
    const { text, blocks, pageStarts } = writer.end();
    if (text.trim() === '') throw recognised ? new EmptyPdf() : new ScannedPdf();
    return { source: { kind: 'document', text, blocks, pageStarts }, pages };
  } finally {
    await document.loadingTask.destroy();
  }
}

class ScannedPdf extends Refusal {
  constructor() {
    super(
      msg`No page of the PDF holds text that can be read; it probably consists of scanned images. Switch on text recognition (enableOcr) in the settings of the knowledge base and parse the document again, or run OCR over it and upload the result.`,
    );
  }
}

class EmptyPdf extends Refusal {
  constructor() {
    super(msg`Text recognition found no text on any page of the PDF. Upload one that holds text.`);
  }
}

/** Opens a PDF for reading, with the options that are given in addition. The caller destroys its loading task. */
export async function openPdf(
  bytes: Buffer,
  options: Parameters<typeof getDocumentProxy>[1] = {},
): Promise<PdfDocument> {
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
        msg`The PDF is protected by a password. Remove the password (print or export it as a new PDF) and upload that.`,
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
async function showsSomething(page: PdfPage): Promise<boolean> {
  const { fnArray } = await page.getOperatorList();
  return fnArray.some((operator) => MARKS.includes(operator));
}

async function textOf(page: PdfPage): Promise<PageText> {
  const [main = { runs: [], rules: [] }, ...turned] = await readSheets(page);
  const { tables, rest } = ruledTables(main.runs, main.rules);
  const rules = joinedRules(main.rules.filter(({ horizontal }) => horizontal));
  return {
    segments: segmentsOf(rest),
    tables,
    rules: rules.length > RULE_LIMIT ? [] : rules,
    turned: turned.map(({ runs }) => segmentsOf(runs)),
  };
}

function layoutOf({ turned, ...parts }: PageText): PageBlock[] {
  return [
    ...blocksOf(parts),
    ...turned.flatMap((segments) => blocksOf({ segments, tables: [], rules: [] })),
  ];
}
