import WordExtractor from 'word-extractor';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { passwordProtected } from './document-package.js';
import { damaged } from './document-source.js';
import { runningLine } from './running-line.js';
import { StructureWriter } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';

/** Flags of the header of the stream WordDocument: the document is encrypted or obfuscated [MS-DOC, FibBase]. */
const FLAGS_OFFSET = 10;
const ENCRYPTED = 0x0100;

/** Word 97 and all later versions [MS-DOC, FibBase.nFib]. */
const VERSION_OFFSET = 2;
const WORD_97 = 0x00c1;

/** Whether the library reads the version; Word 6 and 95 have another structure. */
export function isReadableDoc(stream: Buffer): boolean {
  return stream.length >= FLAGS_OFFSET + 2 && stream.readUInt16LE(VERSION_OFFSET) >= WORD_97;
}

/**
 * Paragraphs, tables, text boxes and notes of a Word 97 to 2003 document, in their order; what its headers say at the
 * start, and its footers at the end. Styles are not read, so that it has no headings.
 */
export async function readDoc(bytes: Buffer, stream: Buffer): Promise<SourceDocument> {
  if ((stream.readUInt16LE(FLAGS_OFFSET) & ENCRYPTED) !== 0) throw passwordProtected();
  const document = await new WordExtractor().extract(bytes).catch((error: unknown) => {
    throw damaged(error);
  });
  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  const headers = linesOf(document.getHeaders({ includeFooters: false }));
  const footers = linesOf(document.getFooters());
  for (const line of headers) structure.paragraph(line);
  writeBody(document.getBody(), structure);
  const boxes = document.getTextboxes({ includeHeadersAndFooters: false });
  const others = [boxes, document.getFootnotes(), document.getEndnotes()].flatMap(paragraphsOf);
  for (const paragraph of others) structure.paragraph(paragraph);
  structure.end();
  for (const line of footers) if (!headers.has(line)) structure.paragraph(line);
  return { kind: 'document', ...writer.end() };
}

/** The library ends each cell of a table with a tab, and each row with a line end. */
function writeBody(body: string, structure: StructureWriter): void {
  let inTable = false;
  for (const line of storable(body).split('\n')) {
    const isRow = line.endsWith('\t') && line.trim() !== '';
    if (isRow && !inTable) structure.beginTable();
    if (!isRow && inTable) structure.endTable();
    inTable = isRow;
    if (!isRow) {
      structure.paragraph(line.trim());
      continue;
    }
    structure.beginRow();
    for (const cell of line.slice(0, -1).split('\t')) {
      structure.beginCell();
      structure.paragraph(cell.trim());
      structure.endCell();
    }
    structure.endRow();
  }
  if (inTable) structure.endTable();
}

function paragraphsOf(text: string): string[] {
  return storable(text)
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function linesOf(text: string): ReadonlySet<string> {
  return new Set(
    paragraphsOf(text)
      .map(runningLine)
      .filter((line) => line !== ''),
  );
}
