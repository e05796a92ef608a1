import { posix } from 'node:path';
import { msg } from '../../../platform/message/index.js';
import { resolved } from './document-package.js';
import type { DocumentPackage } from './document-package.js';
import { refuseTooManyPages, Refusal } from './document-source.js';
import type { ReadDocument, ReadLimits } from './document-source.js';
import { readHtmlInto } from './html-reader.js';
import { decodeMarkup } from './html.format.js';
import { StructureWriter } from './structure-writer.js';
import { BlockWriter } from './table-writer.js';
import { storable } from './text/text-encoding.js';
import { attributeOf } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

/** Types of the parts that chapters are written in. */
const PAGES = ['application/xhtml+xml', 'text/html', 'application/x-dtbook+xml'];

/**
 * The chapters of a book in their reading order, as pages. A chapter without a heading gets its entry in the table of
 * contents, if it has one. No pictures.
 */
export async function readEpub(
  document: DocumentPackage,
  limits: ReadLimits,
): Promise<ReadDocument> {
  const container = new ContainerReader();
  await document.readXml('META-INF/container.xml', container);
  const main = container.main;
  const book = new PackageReader(main ?? '');
  if (main === undefined || !(await document.readXml(main, book))) {
    throw new Refusal(
      msg`The EPUB book has no list of its chapters; it is damaged. Open it, save it again and upload the result.`,
    );
  }
  const chapters = book.chapters();
  refuseTooManyPages({ pages: chapters.length, of: msg`book`, unit: msg`chapters` }, limits);
  await refuseEncrypted(document, chapters);
  const labels = new ContentsReader();
  for (const part of book.contents()) {
    labels.folder = posix.dirname(part);
    await document.readXml(part, labels).catch(ignoreDamage);
  }

  const writer = new BlockWriter();
  const structure = new StructureWriter(writer);
  const pageStarts: number[] = [];
  structure.paragraph([book.title, book.authors.join(', ')].filter(Boolean).join('\n'));
  for (const part of chapters) {
    writer.separate();
    pageStarts.push(pageStarts.length === 0 ? 0 : writer.position);
    const bytes = await document.read(part);
    if (!bytes) continue;
    structure.capture();
    const { headings } = readHtmlInto(decodeMarkup(bytes).text, structure, { xml: true });
    const pieces = structure.release();
    const label = headings === 0 && pieces.length > 0 ? labels.titleByPart.get(part) : undefined;
    if (label !== undefined) structure.heading(label, 1);
    structure.put(pieces);
  }
  structure.end();
  const source = { kind: 'document' as const, ...writer.end(), pageStarts };
  return { source, pages: chapters.length };
}

/** A book can be read without its table of contents. */
function ignoreDamage(error: unknown): void {
  if (!(error instanceof Refusal)) throw error;
}

/** Fonts may be obfuscated; chapters that are encrypted need a key of a shop. */
async function refuseEncrypted(
  document: DocumentPackage,
  chapters: readonly string[],
): Promise<void> {
  await document.readXml('META-INF/encryption.xml', {
    open: (name, attributes) => {
      if (name !== 'CipherReference') return;
      if (chapters.includes(partOf('', attributeOf(attributes, 'URI') ?? ''))) {
        throw new Refusal(
          msg`The book is protected against copying (DRM), so that only the reader of its shop can open it. Upload a copy without protection.`,
        );
      }
    },
    close: () => undefined,
  });
}

/** Names the package document of a book. */
class ContainerReader implements XmlHandler {
  main: string | undefined;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'rootfile') this.main ??= attributeOf(attributes, 'full-path');
  }

  close(): void {}
}

interface Item {
  readonly part: string;
  readonly type: string;
  readonly properties: string;
}

/** The package document: title, authors, parts and their order. */
class PackageReader implements XmlHandler {
  title = '';
  readonly authors: string[] = [];
  private readonly items = new Map<string, Item>();
  private readonly order: string[] = [];
  private readonly folder: string;
  private elementText: string | undefined;

  constructor(main: string) {
    this.folder = posix.dirname(main);
  }

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'title' || name === 'creator') this.elementText = '';
    else if (name === 'itemref') this.order.push(attributeOf(attributes, 'idref') ?? '');
    else if (name === 'item') {
      this.items.set(attributeOf(attributes, 'id') ?? '', {
        part: partOf(this.folder, attributeOf(attributes, 'href') ?? ''),
        type: attributeOf(attributes, 'media-type') ?? '',
        properties: attributeOf(attributes, 'properties') ?? '',
      });
    }
  }

  text(text: string): void {
    if (this.elementText !== undefined) this.elementText += text;
  }

  close(name: string): void {
    const content = storable(this.elementText ?? '').trim();
    if (name === 'title' && this.title === '') this.title = content;
    else if (name === 'creator' && content !== '') this.authors.push(content);
    else if (name !== 'title' && name !== 'creator') return;
    this.elementText = undefined;
  }

  /** Each part once. */
  chapters(): string[] {
    const parts = this.order
      .map((id) => this.items.get(id))
      .filter((item) => item !== undefined && PAGES.includes(item.type))
      .filter((item) => !isContents(item))
      .map((item) => item?.part ?? '');
    return [...new Set(parts)];
  }

  /** The tables of contents: of EPUB 3, and of EPUB 2. */
  contents(): string[] {
    return [...this.items.values()]
      .filter((item) => isContents(item) || item.type === 'application/x-dtbncx+xml')
      .map(({ part }) => part);
  }
}

function isContents(item: Item | undefined): boolean {
  return item?.properties.split(/\s+/).includes('nav') ?? false;
}

/** Reads the title of each part from the table of contents; the first entry wins where several lead into one part. */
class ContentsReader implements XmlHandler {
  folder = '';
  readonly titleByPart = new Map<string, string>();
  private label = '';
  private target: string | undefined;
  private reading = false;

  open(name: string, attributes: XmlAttributes): void {
    if (name === 'a') {
      this.target = attributeOf(attributes, 'href');
      this.label = '';
      this.reading = true;
    } else if (name === 'navLabel') {
      this.label = '';
      this.reading = true;
    } else if (name === 'content') this.add(attributeOf(attributes, 'src'));
  }

  text(text: string): void {
    if (this.reading) this.label += text;
  }

  close(name: string): void {
    if (name === 'a') this.add(this.target);
    if (name === 'a' || name === 'navLabel') this.reading = false;
  }

  private add(target: string | undefined): void {
    const label = storable(this.label).replace(/\s+/g, ' ').trim();
    if (target === undefined || label === '') return;
    const part = partOf(this.folder, target);
    if (!this.titleByPart.has(part)) this.titleByPart.set(part, label);
  }
}

/** The part that an address leads to. */
function partOf(folder: string, href: string): string {
  const path = href.replace(/#.*$/s, '');
  return resolved(folder, decoded(path));
}

function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
