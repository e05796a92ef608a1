import { Tokenizer, TokenizerMode } from 'parse5';
import type { Token, TokenHandler } from 'parse5';
import { CollapsedText } from './collapsed-text.js';
import { hidingOf, SkippedElement } from './hidden-elements.js';
import { MathReader, mathmlToLatex } from './formula.js';
import type { StructureWriter } from './structure-writer.js';
import { storable } from './text/text-encoding.js';

/** Elements whose text readers of the page do not see. */
const SKIPPED = new Set([
  'script',
  'style',
  'template',
  'noscript',
  'svg',
  'rt',
  'rp',
  'datalist',
  'iframe',
  'noembed',
  'noframes',
  'object',
  'audio',
  'video',
  'canvas',
]);

/** Elements that stand on lines of their own. */
const BLOCKS = new Set([
  ...['address', 'article', 'aside', 'blockquote', 'body', 'center', 'details', 'dialog', 'dd'],
  ...['dir', 'div', 'dl', 'dt', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'header'],
  ...['hgroup', 'hr', 'html', 'legend', 'li', 'main', 'menu', 'nav', 'ol', 'option', 'p', 'pre'],
  ...['search', 'section', 'select', 'summary', 'ul', 'caption', 'table', 'tbody', 'thead'],
  ...['tfoot', 'tr', 'td', 'th', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'title', 'textarea'],
]);

const ROW_GROUPS = new Set(['thead', 'tbody', 'tfoot']);

const LISTS = new Set(['ul', 'ol', 'menu', 'dir']);

/** Elements without an end tag, beside those of the same name that are skipped. */
const VOID = new Set([
  ...['area', 'base', 'br', 'col', 'embed', 'hr', 'img', 'input', 'link', 'meta', 'param'],
  ...['source', 'track', 'wbr'],
]);

/** Tokenizer modes for elements whose content is not markup. */
const MODES: Readonly<Record<string, (typeof TokenizerMode)[keyof typeof TokenizerMode]>> = {
  title: TokenizerMode.RCDATA,
  textarea: TokenizerMode.RCDATA,
  style: TokenizerMode.RAWTEXT,
  xmp: TokenizerMode.RAWTEXT,
  iframe: TokenizerMode.RAWTEXT,
  noembed: TokenizerMode.RAWTEXT,
  noframes: TokenizerMode.RAWTEXT,
  script: TokenizerMode.SCRIPT_DATA,
  plaintext: TokenizerMode.PLAINTEXT,
};

/** Deeper tables and lists are read as what is around them. */
const TABLE_DEPTH = 30;
const LIST_DEPTH = 10;

export interface HtmlReading {
  /** Title in the head of the page. */
  readonly title: string;
  readonly headings: number;
}

interface HtmlOptions {
  /** XHTML: a tag that closes itself has no content, whatever its name. */
  readonly xml?: boolean;
}

/**
 * Writes the text of an HTML page with its structure: headings, paragraphs, lists, tables and preformatted text. The
 * tags are read as the HTML standard says; how they lie in each other matters only for lists and tables, so that no page
 * is too deep or too wrong to be read.
 */
export function readHtmlInto(
  text: string,
  structure: StructureWriter,
  options: HtmlOptions = {},
): HtmlReading {
  const reader = new HtmlReader(structure, options);
  const tokenizer = new Tokenizer({}, reader);
  reader.tokenizer = tokenizer;
  tokenizer.write(text, true);
  return reader.end();
}

class HtmlReader implements TokenHandler {
  tokenizer: Tokenizer | undefined;
  private readonly line = new CollapsedText();
  private heading: number | undefined;
  private headings = 0;
  private title: string | undefined;
  private inTitle = false;
  private preformatted = 0;
  private readonly lists: { readonly ordered: boolean; items: number }[] = [];
  private item = '';
  private tables = 0;
  private skipped: SkippedElement | undefined;
  /** Number of open elements by name. */
  private readonly open = new Map<string, number>();
  private math: MathReader | undefined;

  constructor(
    private readonly structure: StructureWriter,
    private readonly options: HtmlOptions,
  ) {}

  onStartTag(token: Token.TagToken): void {
    const { tagName: name, attrs } = token;
    const empty = VOID.has(name) || (token.selfClosing && (this.options.xml || name === 'svg'));
    if (!empty && !this.math && this.skipped?.name !== 'svg') this.setMode(name);
    // Browsers also end a formula that is never closed at the next block.
    if (this.math && BLOCKS.has(name)) this.endMath();
    if (this.math) {
      this.math.open(name, attributesOf(attrs));
      if (empty || token.selfClosing) this.math.close(name);
      return;
    }
    if (this.skipped) {
      if (!this.skipped.endsBefore(name, attrs)) {
        if (!empty) this.skipped.open(name);
        return;
      }
      this.skipped = undefined;
    }
    const hiding = SKIPPED.has(name) ? 'always' : hidingOf(name, attrs);
    if (hiding) {
      if (!empty) this.skipped = new SkippedElement(name, hiding);
      return;
    }
    if (name === 'math' && !empty) this.math = new MathReader();
    if (!empty) this.count(name, 1);
    if (name === 'br') this.line.addExactly('\n');
    else if (BLOCKS.has(name)) this.startBlock(name, attrs);
    if (empty && BLOCKS.has(name)) this.endBlock(name);
  }

  onEndTag({ tagName: name }: Token.TagToken): void {
    if (this.math) {
      if (name !== 'math') {
        this.math.close(name);
        return;
      }
      this.endMath();
    }
    if (this.skipped) {
      const ended = this.skipped.close(name, this.endsAround(name, this.skipped.name));
      if (ended === 'no') return;
      this.skipped = undefined;
      if (ended === 'with') return;
    }
    this.count(name, -1);
    if (BLOCKS.has(name)) this.endBlock(name);
  }

  onCharacter({ chars }: Token.CharacterToken): void {
    if (this.math) {
      this.math.text(storable(chars));
      return;
    }
    if (this.skipped) return;
    if (this.preformatted > 0) this.line.addExactly(chars);
    else this.line.add(chars);
  }

  onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.onCharacter(token);
  }

  onNullCharacter(): void {}

  onComment(): void {}

  onDoctype(): void {}

  onEof(): void {}

  end(): HtmlReading {
    this.endMath();
    this.flush();
    while (this.tables > 0) {
      this.tables -= 1;
      this.structure.endTable();
    }
    return { title: this.title ?? '', headings: this.headings };
  }

  /** Whether an end tag closes an element around this one: block tags do, and any tag around an inline element. */
  private endsAround(name: string, inner: string): boolean {
    if (name === 'p' || (this.open.get(name) ?? 0) === 0) return false;
    return BLOCKS.has(name) || !BLOCKS.has(inner);
  }

  private endMath(): void {
    if (!this.math) return;
    this.line.addExactly(mathmlToLatex(this.math.end()));
    this.math = undefined;
  }

  private count(name: string, change: 1 | -1): void {
    this.open.set(name, Math.max(0, (this.open.get(name) ?? 0) + change));
  }

  private setMode(name: string): void {
    const mode = Object.hasOwn(MODES, name) ? MODES[name] : undefined;
    if (mode !== undefined && this.tokenizer) this.tokenizer.state = mode;
  }

  private startBlock(name: string, attrs: readonly Token.Attribute[]): void {
    this.flush();
    const level = /^h([1-6])$/.exec(name)?.[1];
    if (level !== undefined) this.heading = Number(level);
    else if (name === 'title') this.inTitle = true;
    else if (name === 'pre' || name === 'textarea') this.preformatted += 1;
    else if (LISTS.has(name)) this.startList(name, attrs);
    else if (name === 'li') this.startItem();
    else if (name === 'dd') this.item = '  ';
    else this.startOfTable(name, attrs);
  }

  private startList(name: string, attrs: readonly Token.Attribute[]): void {
    const start = Number(valueOf(attrs, 'start') ?? 1);
    const items = Number.isInteger(start) ? start - 1 : 0;
    this.lists.push({ ordered: name === 'ol', items });
  }

  private startItem(): void {
    const list = this.lists.at(-1);
    if (list) list.items += 1;
    const depth = Math.min(Math.max(this.lists.length - 1, 0), LIST_DEPTH);
    this.item = `${'  '.repeat(depth)}${list?.ordered ? `${list.items}.` : '-'} `;
  }

  private startOfTable(name: string, attrs: readonly Token.Attribute[]): void {
    const { structure } = this;
    if (name === 'table') {
      this.tables += 1;
      if (this.tables <= TABLE_DEPTH) structure.beginTable();
    } else if (this.tables === 0 || this.tables > TABLE_DEPTH) return;
    else if (ROW_GROUPS.has(name)) structure.endRowGroup();
    else if (name === 'tr') structure.beginRow();
    else if (name === 'td' || name === 'th') {
      structure.beginCell({
        columns: Number(valueOf(attrs, 'colspan')) || 1,
        rows: Number(valueOf(attrs, 'rowspan')) || 1,
      });
    }
  }

  private endBlock(name: string): void {
    this.flush();
    if (name === 'pre' || name === 'textarea') {
      this.preformatted = Math.max(0, this.preformatted - 1);
    } else if (LISTS.has(name)) {
      this.lists.pop();
      this.item = '';
    } else if (name === 'li' || name === 'dd') this.item = '';
    else if (name === 'table' && this.tables > 0) {
      if (this.tables <= TABLE_DEPTH) this.structure.endTable();
      this.tables -= 1;
    } else if (this.tables > 0 && this.tables <= TABLE_DEPTH) {
      if (ROW_GROUPS.has(name)) this.structure.endRowGroup();
      else if (name === 'tr') this.structure.endRow();
      else if (name === 'td' || name === 'th') this.structure.endCell();
    }
  }

  /** Writes what was read since the last block began or ended. */
  private flush(): void {
    const raw = storable(this.line.take()).replaceAll('\u00a0', ' ');
    const text = this.preformatted > 0 ? raw.replace(/^\n+|\s+$/g, '') : trimmedLines(raw);
    const { heading, item, inTitle } = this;
    this.inTitle = false;
    this.heading = undefined;
    if (text === '') return;
    if (inTitle) this.title ??= text.replace(/\s+/g, ' ');
    else if (heading !== undefined) {
      this.headings += 1;
      this.structure.heading(text, heading);
    } else {
      this.item = item.replace(/\S/g, ' ');
      this.structure.paragraph(`${item}${text}`);
    }
  }
}

function trimmedLines(text: string): string {
  return text
    .split('\n')
    .map((line) => line.trim())
    .join('\n')
    .trim();
}

function attributesOf(attrs: readonly Token.Attribute[]): Record<string, string> {
  return Object.fromEntries(attrs.map(({ name, value }) => [name, value]));
}

function valueOf(attrs: readonly Token.Attribute[], name: string): string | undefined {
  return attrs.find((attribute) => attribute.name === name)?.value;
}
