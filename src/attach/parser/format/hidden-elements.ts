import type { Token } from 'parse5';

/**
 * How an element is hidden: always, or unless something in it says otherwise (CSS 2, visibility; a font of size zero).
 */
export type Hiding = 'always' | 'visibility' | 'size';

type Attributes = readonly Token.Attribute[];

const NONE = /(?:^|;)\s*(?:display\s*:\s*none|mso-hide\s*:\s*all|content-visibility\s*:\s*hidden)/i;
const INVISIBLE = /(?:^|;)\s*visibility\s*:\s*(?:hidden|collapse)/i;
const VISIBLE = /(?:^|;)\s*visibility\s*:\s*visible/i;
const NO_SIZE =
  /(?:^|;)\s*font(?:-size\s*:\s*|\s*:[^;]*\s)0(?:\.0+)?(?:px|pt|em|rem|%)?\s*(?:[;!/]|$)/i;
const SIZE = /(?:^|;)\s*font(?:-size)?\s*:/i;

/** Elements without text of their own, whose size of font removes the gaps between the elements in them. */
const LAYOUT = new Set(['table', 'tbody', 'thead', 'tfoot', 'tr', 'td', 'th', 'div', 'ul', 'ol']);

/** Hiding by the attributes alone, whatever the element is; undefined for a visible one. */
export function hidingOf(name: string, attributes: Attributes): Hiding | undefined {
  const value = (wanted: string) =>
    attributes.find((attribute) => attribute.name === wanted)?.value;
  const hidden = value('hidden');
  // Content that a search on the page reveals is visible to readers.
  if (hidden !== undefined && hidden.toLowerCase() !== 'until-found') return 'always';
  // The style sheet of the HTML standard hides both until a script opens them.
  if (name === 'dialog' && value('open') === undefined) return 'always';
  if (value('popover') !== undefined) return 'always';
  const classes = value('class')?.split(/\s+/) ?? [];
  // The picture of a formula that stands before it as MathML.
  if (classes.includes('katex-html')) return 'always';
  const style = value('style') ?? '';
  if (NONE.test(style)) return 'always';
  if (INVISIBLE.test(style)) return 'visibility';
  return NO_SIZE.test(style) && !LAYOUT.has(name) ? 'size' : undefined;
}

const ROWS = ['tr', 'tbody', 'thead', 'tfoot'];
const LISTS = ['ul', 'ol', 'menu', 'dir'];
const GROUPS = ['tbody', 'thead', 'tfoot'];

/** Start tags that end a paragraph without an end tag (HTML standard, 13.1.2.4). */
const ENDS_PARAGRAPH = new Set([
  ...['address', 'article', 'aside', 'blockquote', 'center', 'details', 'dialog', 'dir', 'div'],
  ...['dl', 'fieldset', 'figcaption', 'figure', 'footer', 'form', 'h1', 'h2', 'h3', 'h4', 'h5'],
  ...['h6', 'header', 'hgroup', 'hr', 'main', 'menu', 'nav', 'ol', 'p', 'pre', 'search'],
  ...['section', 'table', 'ul', 'li', 'dd', 'dt', 'td', 'th', 'tr', 'tbody', 'thead', 'tfoot'],
]);

/** Elements with an optional end tag: the start tags that end them, and the elements that separate nested ones. */
const OPTIONAL_ENDS: Readonly<
  Record<string, { readonly by: ReadonlySet<string>; readonly unlessIn: readonly string[] }>
> = {
  p: { by: ENDS_PARAGRAPH, unlessIn: ['button', 'object'] },
  li: { by: new Set(['li']), unlessIn: LISTS },
  dt: { by: new Set(['dt', 'dd']), unlessIn: ['dl'] },
  dd: { by: new Set(['dt', 'dd']), unlessIn: ['dl'] },
  tr: { by: new Set(ROWS), unlessIn: ['table'] },
  td: { by: new Set(['td', 'th', ...ROWS]), unlessIn: ['table'] },
  th: { by: new Set(['td', 'th', ...ROWS]), unlessIn: ['table'] },
  tbody: { by: new Set(GROUPS), unlessIn: ['table'] },
  thead: { by: new Set(GROUPS), unlessIn: ['table'] },
  tfoot: { by: new Set(GROUPS), unlessIn: ['table'] },
  option: { by: new Set(['option', 'optgroup']), unlessIn: [] },
  optgroup: { by: new Set(['optgroup']), unlessIn: [] },
};

/** Open elements that are remembered; a page whose tags never end has thousands. */
const MAX_OPEN = 1_000;

/** A hidden element, up to its end, with or without an end tag. */
export class SkippedElement {
  /** Elements in it that are open. */
  private readonly inner: string[] = [];

  constructor(
    readonly name: string,
    private readonly hiding: Hiding,
  ) {}

  /** Whether the element ends before this start tag, or is shown from there on. */
  endsBefore(name: string, attributes: Attributes): boolean {
    const ends = Object.hasOwn(OPTIONAL_ENDS, this.name) ? OPTIONAL_ENDS[this.name] : undefined;
    if (ends?.by.has(name) && !ends.unlessIn.some((outer) => this.inner.includes(outer))) {
      return true;
    }
    if (this.hiding === 'always') return false;
    const style = attributes.find((attribute) => attribute.name === 'style')?.value ?? '';
    return this.hiding === 'visibility'
      ? VISIBLE.test(style)
      : SIZE.test(style) && !NO_SIZE.test(style);
  }

  open(name: string): void {
    if (this.inner.length < MAX_OPEN) this.inner.push(name);
  }

  /** Whether the element ends with this end tag, or before it because that ends an element around it. */
  close(name: string, endsAround: boolean): 'with' | 'before' | 'no' {
    const index = this.inner.lastIndexOf(name);
    if (index >= 0) {
      this.inner.length = index;
      return 'no';
    }
    if (name === this.name) return 'with';
    return endsAround ? 'before' : 'no';
  }
}
