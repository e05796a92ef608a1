import { getDocumentProxy } from 'unpdf';
import { OPS } from 'unpdf/pdfjs';
import { msg } from '../../../platform/message/index.js';
import type { ReadDocument, ReadLimits, RecognisedPages } from './document-source.js';
import { CharacterMaps } from './pdf-character-maps.js';
import { Refusal, refuseTooManyPages, UnreadPages } from './document-source.js';
import { withActualText } from './pdf/actual-text.js';
import { DocumentWriter } from './pdf/document-writer.js';
import { isCut, withTrailer } from './pdf/file-repair.js';
import { readSheets, VisibleContent } from './pdf/page-glyphs.js';
import type { PdfDocument, PdfLayers, PdfPage } from './pdf/page-glyphs.js';
import { blocksOf } from './pdf/page-layout.js';
import type { PageBlock, PageParts } from './pdf/page-layout.js';
import { segmentsOf } from './pdf/page-lines.js';
import type { Segment } from './pdf/page-lines.js';
import { joinedRules, ruledTables } from './pdf/ruled-tables.js';
import type { Table } from './pdf/ruled-tables.js';
import { withoutRunningLines } from './pdf/running-lines.js';
import type { EdgedSheet, SheetText } from './pdf/running-lines.js';

/** Maximum number of lines across a page; more belong to a drawing. */
const RULE_LIMIT = 400;

/** Content of a page in one reading direction; the first direction has most of the text. */
interface SheetParts extends EdgedSheet, PageParts {
  readonly tables: readonly Table[];
}

/**
 * The text of a PDF in the order in which it is read, page by page: columns one after the other, the rows of tables,
 * paragraphs wherever the lines stand further apart. Headers, footers and page numbers are kept once. A page
 * without text has the recognised one; with `recognised`, throws UnreadPages for those that show something and are not in it.
 */
export async function readPdf(
  bytes: Buffer,
  limits: ReadLimits,
  recognised?: RecognisedPages,
): Promise<ReadDocument> {
  // Skipped images would be missing among the operators, which show whether a page without text has content.
  const options = { disableFontFace: false, maxImageSize: recognised ? -1 : 1 };
  const document = await openPdf(withActualText(bytes), options);
  try {
    const { numPages: pages } = document;
    refuseTooManyPages({ pages, of: msg`PDF`, unit: msg`pages` }, limits);
    const layers = await document.getOptionalContentConfig();
    const sheets: SheetParts[] = [];
    const unread: number[] = [];
    for (let number = 1; number <= pages; number += 1) {
      if (recognised?.has(number)) continue;
      const page = await readPage(document, number, { layers, recognised }).catch(
        (error: unknown) => {
          if (isCut(bytes)) return undefined;
          throw error;
        },
      );
      sheets.push(...(page?.sheets ?? []));
      if (page?.isUnread) unread.push(number);
    }
    if (unread.length > 0) throw new UnreadPages(unread, pages);
    const byPage = Array.from({ length: pages }, (): PageBlock[] => []);
    withoutRunningLines(sheets).forEach((text, index) => {
      const sheet = sheets[index];
      if (sheet) byPage[sheet.page]?.push(...layoutOf(text, sheet));
    });
    const writer = new DocumentWriter();
    byPage.forEach((blocks, index) => writer.page(blocks, recognised?.get(index + 1)));
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

/**
 * Opens a PDF for reading, with the options that are given in addition; one that has lost its trailer as far as it goes. The
 * caller destroys its loading task.
 */
export async function openPdf(bytes: Buffer, options: PdfOptions = {}): Promise<PdfDocument> {
  try {
    return await open(bytes, options);
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    if (name === 'PasswordException') {
      throw new Refusal(
        msg`The PDF is protected by a password. Remove the password (print or export it as a new PDF) and upload that.`,
      );
    }
    const repaired = name === 'InvalidPDFException' ? withTrailer(bytes) : undefined;
    if (!repaired) throw error;
    return open(repaired, options);
  }
}

type PdfOptions = Parameters<typeof getDocumentProxy>[1];

function open(bytes: Buffer, options: PdfOptions): Promise<PdfDocument> {
  // A copy, because the reader keeps or detaches what it is given.
  return getDocumentProxy(new Uint8Array(bytes), {
    verbosity: 0,
    useSystemFonts: false,
    useWorkerFetch: false,
    cMapPacked: false,
    cMapUrl: 'made/',
    BinaryDataFactory: CharacterMaps,
    ...options,
  });
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

/** The text of a page, and whether its image is to be read in place of one. */
async function readPage(
  document: PdfDocument,
  number: number,
  {
    layers,
    recognised,
  }: { readonly layers: PdfLayers; readonly recognised: RecognisedPages | undefined },
) {
  const page = await document.getPage(number);
  const sheets = await sheetsOf(page, layers);
  const isUnread = recognised && sheets.length === 0 && (await showsSomething(page, layers));
  page.cleanup();
  return { sheets, isUnread };
}

/** Whether the page draws an image or a path: recognition of an empty page is not worth its cost. */
async function showsSomething(page: PdfPage, layers: PdfLayers): Promise<boolean> {
  const { fnArray, argsArray } = await page.getOperatorList();
  const content = new VisibleContent(layers);
  return fnArray.some((operator, index) => {
    const args: unknown = argsArray[index];
    if (operator === OPS.beginMarkedContent) content.begin();
    if (operator === OPS.beginMarkedContentProps) content.begin(...(args as [unknown, unknown]));
    if (operator === OPS.endMarkedContent) content.end();
    return content.isVisible && MARKS.includes(operator);
  });
}

async function sheetsOf(page: PdfPage, layers: PdfLayers): Promise<SheetParts[]> {
  const sheets = await readSheets(page, layers);
  return sheets.map(({ runs, rules, quarter, box }, index) => {
    const sheet = { page: page.pageNumber - 1, quarter, ...(box && { box }) };
    // The lines of a page are those of its main text.
    if (index > 0) return { ...sheet, segments: segmentsOf(runs), tables: [], rules: [] };
    const { tables, rest } = ruledTables(runs, rules);
    const across = joinedRules(rules.filter(({ horizontal }) => horizontal));
    return {
      ...sheet,
      segments: segmentsOf(rest),
      tables,
      rules: across.length > RULE_LIMIT ? [] : across,
    };
  });
}

function layoutOf(
  { headers, body, footers }: SheetText,
  { tables, rules }: PageParts,
): PageBlock[] {
  const running = (segments: readonly Segment[]) =>
    blocksOf({ segments, tables: [], rules: [] }).map((block) => ({ ...block, isRunning: true }));
  return [...running(headers), ...blocksOf({ segments: body, tables, rules }), ...running(footers)];
}
