import { msg } from '../../../platform/message/index.js';
import type { SourceDocument } from '../../../fragment/splitter/index.js';
import { COMPOUND_FILE } from './document-source.js';
import { readCsv } from './csv.format.js';
import { DocumentPackage, ZIP_FILE } from './document-package.js';
import type { Unpacked } from './document-package.js';
import type { ReadDocument, ReadLimits, RecognisedPages, SourceFile } from './document-source.js';
import { Refusal } from './document-source.js';
import { decodeMarkup, looksLikeHtml, readHtml } from './html.format.js';
import { isImage, readImage } from './image-file.js';
import { refusalOfBinary, refuseMisnamedText } from './misnamed.js';
import { withoutEscapes, languageOf, suffixOf } from './text/source-language.js';
import { piecesOf } from './structure-writer.js';
import type { Piece } from './structure-writer.js';
import type { DecodedText } from './text/text-encoding.js';

const PDF = Buffer.from('%PDF-');

/** First characters of rich text. */
const RICH_TEXT = Buffer.from('{\\rtf');

/** Documents in a document in a document; more is a mistake. */
const EMBEDDING_DEPTH = 3;

const MARKDOWN = ['.md', '.markdown', '.mdx', '.mdown'];
const NOTEBOOK = '.ipynb';
const JSON_TEXT = ['.json', '.geojson', '.jsonld', '.webmanifest', NOTEBOOK];
const JSON_LINES = ['.jsonl', '.ndjson'];
const TABLES = ['.csv', '.tsv', '.tab', '.psv'];
const PAGES = ['.html', '.htm', '.xhtml', '.xht'];
const MAILS = ['.eml', '.mht', '.mhtml'];

/**
 * Reads a document by its content; only the kind of a text follows from its name. Throws Refusal with the reason where it
 * cannot be read, holds no text, or is text under the name of a binary format. With `recognised`, which switches text
 * recognition on, throws UnreadPages for pages without text that are not in it.
 */
export async function readDocument(
  file: SourceFile,
  limits: ReadLimits,
  recognised?: RecognisedPages,
): Promise<ReadDocument> {
  const unpacked = { bytes: 0 };
  const document = await readByContent(file, { limits, recognised, unpacked, depth: 0 });
  if (document.source.text.trim() === '') {
    throw new Refusal(msg`The document holds no text. Upload one that does.`);
  }
  return document;
}

/** State shared with the readers of embedded documents. */
interface Reading {
  readonly limits: ReadLimits;
  readonly recognised: RecognisedPages | undefined;
  readonly unpacked: Unpacked;
  /** Nesting depth in other documents. */
  readonly depth: number;
}

async function readByContent({ bytes, name }: SourceFile, reading: Reading): Promise<ReadDocument> {
  const { limits, recognised } = reading;
  if (isPdf(bytes, name)) {
    // Loaded when it is needed: the readers are large, and most processes meet few of the formats.
    const { readPdf } = await import('./pdf.format.js');
    return readPdf(bytes, limits, recognised);
  }
  if (isImage(bytes)) return readImage(recognised);
  if (startsWith(bytes, ZIP_FILE)) return readPackage(bytes, reading);
  if (startsWith(bytes, COMPOUND_FILE)) return readCompoundFile(bytes, limits);
  if (startsWith(bytes, RICH_TEXT)) {
    const { readRtf } = await import('./rtf.format.js');
    return { source: await readRtf(bytes) };
  }
  if (isOf(name, MAILS) || saysNoKind(name)) {
    const { looksLikeMail, readMail } = await import('./eml.format.js');
    if (looksLikeMail(bytes, isOf(name, MAILS))) return readMail(bytes);
  }
  const { text, encoding } = decoded(bytes, name);
  if (suffixOf(name) === NOTEBOOK) {
    const { readNotebook } = await import('./notebook.format.js');
    const source = readNotebook(text);
    if (source) return { source, encoding };
  }
  return { source: sourceOf(text, name), encoding };
}

/** The content of a document that another one embeds; undefined where it has none that can be read. */
async function readEmbedded(
  outer: DocumentPackage,
  part: string,
  reading: Reading,
): Promise<readonly Piece[] | undefined> {
  try {
    const bytes = await outer.read(part);
    if (!bytes) return undefined;
    return piecesOf((await readByContent({ bytes, name: part }, reading)).source);
  } catch (error) {
    if (error instanceof Refusal) return undefined;
    throw error;
  }
}

function decoded(bytes: Buffer, name: string): DecodedText {
  try {
    return decodeMarkup(bytes);
  } catch (error) {
    throw error instanceof Refusal ? refusalOfBinary(error, name) : error;
  }
}

/** Documents of Office 97 to 2003 and messages of Outlook. */
async function readCompoundFile(bytes: Buffer, limits: ReadLimits): Promise<ReadDocument> {
  const { openCompoundFile, refusalOfCompoundFile } = await import('./compound-file.js');
  const { kind, stream } = openCompoundFile(bytes);
  switch (kind) {
    case 'doc': {
      const { isReadableDoc, readDoc } = await import('./doc.format.js');
      const main = stream('WordDocument');
      if (!main || !isReadableDoc(main)) throw refusalOfCompoundFile('docx');
      return { source: await readDoc(bytes, main) };
    }
    case 'xls': {
      const { readWorkbook } = await import('./spreadsheet/workbook.format.js');
      return { source: readWorkbook(bytes) };
    }
    case 'ppt': {
      const { readPpt } = await import('./ppt.format.js');
      const main = stream('PowerPoint Document') ?? Buffer.alloc(0);
      return readPpt(main, stream('Current User') ?? Buffer.alloc(0), limits);
    }
    case 'msg': {
      const { readMail } = await import('./eml.format.js');
      return readMail(bytes);
    }
    case 'other':
      throw refusalOfCompoundFile('pdf');
  }
}

async function readPackage(bytes: Buffer, reading: Reading): Promise<ReadDocument> {
  const { limits, unpacked, depth } = reading;
  const document = await DocumentPackage.open(bytes, limits, unpacked);
  switch (document.kind) {
    case 'docx': {
      const { readDocx } = await import('./docx.format.js');
      const readChunk = (part: string) =>
        depth < EMBEDDING_DEPTH
          ? readEmbedded(document, part, { ...reading, recognised: undefined, depth: depth + 1 })
          : Promise.resolve(undefined);
      return { source: await readDocx(document, readChunk) };
    }
    case 'xlsx': {
      const { readXlsx } = await import('./xlsx.format.js');
      return { source: await readXlsx(document) };
    }
    case 'pptx': {
      const { readPptx } = await import('./pptx.format.js');
      return readPptx(document, limits);
    }
    case 'odt': {
      const { readOdt } = await import('./odt.format.js');
      return { source: await readOdt(document) };
    }
    case 'ods': {
      const { readOds } = await import('./spreadsheet/ods.format.js');
      return { source: await readOds(document) };
    }
    case 'odp': {
      const { readOdp } = await import('./odp.format.js');
      return readOdp(document, limits);
    }
    case 'xlsb': {
      const { readWorkbook } = await import('./spreadsheet/workbook.format.js');
      return { source: readWorkbook(bytes) };
    }
    case 'epub': {
      const { readEpub } = await import('./epub.format.js');
      return readEpub(document, limits);
    }
  }
}

function sourceOf(text: string, name: string): SourceDocument {
  refuseMisnamedText(text, name);
  if (isOf(name, PAGES) || (saysNoKind(name) && looksLikeHtml(text))) return readHtml(text);
  if (isOf(name, MARKDOWN)) return { kind: 'markdown', text };
  if (isOf(name, JSON_TEXT)) return { kind: 'json', text: withoutEscapes(text) };
  if (isOf(name, JSON_LINES)) return { kind: 'text', text: withoutEscapes(text) };
  if (isOf(name, TABLES)) return readCsv(text);
  const language = languageOf(name);
  return language === undefined ? { kind: 'text', text } : { kind: 'code', text, language };
}

/** Whether the name does not determine the kind of the text, so that its content may. */
function saysNoKind(name: string): boolean {
  const kinds = [MARKDOWN, JSON_TEXT, TABLES];
  return languageOf(name) === undefined && !kinds.some((suffixes) => isOf(name, suffixes));
}

function isOf(name: string, suffixes: readonly string[]): boolean {
  return suffixes.includes(suffixOf(name));
}

/** Some programs write a few bytes before the header, which readers of PDF ignore. */
function isPdf(bytes: Buffer, name: string): boolean {
  if (startsWith(bytes, PDF)) return true;
  return suffixOf(name) === '.pdf' && bytes.subarray(0, 1_024).includes(PDF);
}

function startsWith(bytes: Buffer, start: Buffer): boolean {
  return bytes.subarray(0, start.length).equals(start);
}
