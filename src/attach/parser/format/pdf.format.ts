import { getDocumentProxy } from 'unpdf';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { CharacterMaps } from './pdf-character-maps.js';
import { Refusal, refuseTooManyPages } from './document-source.js';
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

/**
 * The text of a PDF in the order in which it is read, page by page: columns one after the other, the rows of tables,
 * paragraphs wherever the lines stand further apart. Headers, footers and page numbers are left out.
 */
export async function readPdf(bytes: Buffer, limits: ReadLimits): Promise<ReadDocument> {
  const document = await open(bytes);
  try {
    const { numPages: pages } = document;
    refuseTooManyPages({ pages, of: 'PDF', unit: 'pages' }, limits);
    const texts: PageText[] = [];
    for (let number = 1; number <= pages; number += 1) {
      const page = await document.getPage(number);
      texts.push(await textOf(page));
      page.cleanup();
    }
    const writer = new DocumentWriter();
    withoutRunningLines(texts).forEach((segments, index) => {
      const text = texts[index];
      if (text) writer.page(layoutOf({ ...text, segments }));
    });
    const { text, blocks, pageStarts } = writer.end();
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

async function open(bytes: Buffer): Promise<PdfDocument> {
  try {
    // A copy, because the reader keeps or detaches what it is given.
    return await getDocumentProxy(new Uint8Array(bytes), {
      verbosity: 0,
      useSystemFonts: false,
      useWorkerFetch: false,
      // Text alone is read: neither shapes of letters nor images are made.
      disableFontFace: false,
      maxImageSize: 1,
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
