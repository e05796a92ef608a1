import { SaxesParser } from 'saxes';
import { msg } from '../../../platform/message/index.js';
import { nestedTooDeeply, Refusal } from './document-source.js';

/** The attributes of an element by their names as written, with their prefixes. */
export type XmlAttributes = Readonly<Record<string, string>>;

/** Receives the elements of an XML document in their order. Names come without their prefix, which authors choose. */
export interface XmlHandler {
  open(name: string, attributes: XmlAttributes): void;
  close(name: string): void;
  text?(text: string): void;
}

/** Maximum nesting depth; real documents have some dozen levels. */
const DEPTH_LIMIT = 2_000;

/** Errors that real documents contain and that do not prevent reading. */
const TOLERATED = /disallowed character|undefined entity/;

/**
 * Reads XML piece by piece, so that no document is in memory as a whole or as a tree. Entities are never resolved but
 * the five of XML. Throws Refusal for XML that is not well-formed, nested too deeply or defines entities.
 */
export async function readXml(
  chunks: AsyncIterable<Uint8Array>,
  handler: XmlHandler,
): Promise<void> {
  const reader = new XmlReader(handler);
  for await (const text of decoded(chunks)) reader.write(text);
  reader.end();
}

/** XML as text, piece by piece. */
export async function* decoded(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  for await (const chunk of chunks) {
    decoder ??= new TextDecoder(encodingOf(chunk));
    yield decoder.decode(chunk, { stream: true });
  }
  yield decoder?.decode() ?? '';
}

/** The attribute of this name in the namespace of the element, whatever its prefix. */
export function attributeOf(attributes: XmlAttributes, name: string): string | undefined {
  const plain = attributes[name];
  if (plain !== undefined) return plain;
  const end = `:${name}`;
  for (const key in attributes) if (key.endsWith(end)) return attributes[key];
  return undefined;
}

/** The attribute `id` of the namespace of relationships, beside which an element may have an id of its own. */
export function relationshipIn(attributes: XmlAttributes): string | undefined {
  for (const key in attributes) if (key.endsWith(':id')) return attributes[key];
  return undefined;
}

/** Whether a toggle attribute or element is on; one without a value is on. */
export function isOn(value: string | undefined): boolean {
  return value === undefined || value === '1' || value === 'true' || value === 'on';
}

class XmlReader {
  private readonly parser = new SaxesParser();
  private depth = 0;

  constructor(handler: XmlHandler) {
    const { parser } = this;
    parser.on('opentag', ({ name, attributes }) => {
      this.depth += 1;
      if (this.depth > DEPTH_LIMIT) throw nestedTooDeeply();
      handler.open(localName(name), attributes);
    });
    parser.on('closetag', ({ name }) => {
      this.depth -= 1;
      handler.close(localName(name));
    });
    if (handler.text) {
      const text = handler.text.bind(handler);
      parser.on('text', text);
      parser.on('cdata', text);
    }
    parser.on('doctype', (doctype) => {
      if (doctype.includes('[')) throw definesEntities();
    });
    parser.on('error', (error) => {
      if (!TOLERATED.test(error.message)) throw malformed();
    });
  }

  write(text: string): void {
    this.parser.write(text);
  }

  end(): void {
    this.parser.close();
  }
}

function definesEntities(): Refusal {
  return new Refusal(
    msg`The file defines XML entities, which documents of this format never do. Open it, save it again and upload the result.`,
  );
}

function malformed(): Refusal {
  return new Refusal(
    msg`The file is damaged: its XML is not well-formed. Open it, save it again and upload the result.`,
  );
}

function localName(name: string): string {
  return name.slice(name.indexOf(':') + 1);
}

/** Encoding by the byte order mark, else by the declaration, else UTF-8 (XML 1.0, appendix F). */
function encodingOf(chunk: Uint8Array): string {
  const [first, second] = chunk;
  if ((first === 0xff && second === 0xfe) || (first === 0x3c && second === 0)) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || (first === 0 && second === 0x3c)) return 'utf-16be';
  const head = Buffer.from(chunk.subarray(0, 200)).toString('latin1');
  const label = /^(?:\xef\xbb\xbf)?<\?xml[^>]*\sencoding=["']([\w.:-]+)["']/.exec(head)?.[1];
  return label !== undefined && isEncoding(label) ? label : 'utf-8';
}

/** Whether the label names a supported encoding of the WHATWG Encoding standard. */
export function isEncoding(label: string): boolean {
  try {
    return new TextDecoder(label).encoding !== '';
  } catch {
    return false;
  }
}

/** Leaves elements out with all that is in them, for a handler that tells it of each beginning and each end. */
export class ElementSkip {
  private depth = 0;
  private from: number | undefined;

  get isActive(): boolean {
    return this.from !== undefined;
  }

  /** Called at each start tag: whether the element lies in a skipped one. */
  enter(): boolean {
    this.depth += 1;
    return this.isActive;
  }

  /** Skips the element that has just begun, or the one `levelsUp` levels around it. */
  begin(levelsUp = 0): void {
    this.from = this.depth - levelsUp;
  }

  /** Called at each end tag: whether the element was skipped. */
  leave(): boolean {
    const isLeftOut = this.isActive;
    if (this.depth === this.from) this.from = undefined;
    this.depth -= 1;
    return isLeftOut;
  }
}
