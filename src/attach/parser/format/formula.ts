import { attributeOf, isOn } from './xml-reader.js';
import type { XmlAttributes } from './xml-reader.js';

/** An element of a formula, as OMML (ECMA-376 part 1, 22.1) and MathML (W3C) write them. */
export interface MathNode {
  readonly name: string;
  readonly attributes: XmlAttributes;
  readonly children: MathNode[];
  /** Text of the element itself, without its children. */
  text: string;
}

/** Maximum number of elements and levels of a formula; the rest is dropped. */
const MAX_NODES = 20_000;
const MAX_DEPTH = 200;

/** Collects the elements of one formula while they are read. */
export class MathReader {
  private readonly root: MathNode = newNode('math', {});
  private readonly path: (MathNode | undefined)[] = [this.root];
  private nodes = 0;

  open(name: string, attributes: XmlAttributes): void {
    const parent = this.path.at(-1);
    this.nodes += 1;
    const fits = parent && this.nodes <= MAX_NODES && this.path.length < MAX_DEPTH;
    const node = fits ? newNode(name, attributes) : undefined;
    if (node) parent?.children.push(node);
    this.path.push(node);
  }

  text(text: string): void {
    const node = this.path.at(-1);
    if (node) node.text += text;
  }

  /** Ends the innermost element; one of another name, as HTML may have it, up to that of this name. */
  close(name: string): void {
    const index = this.path.findLastIndex((node) => node === undefined || node.name === name);
    if (index > 0) this.path.length = index;
  }

  /** Whether every opened element is closed. */
  get isWhole(): boolean {
    return this.path.length === 1;
  }

  end(): MathNode {
    return this.root;
  }
}

function newNode(name: string, attributes: XmlAttributes): MathNode {
  return { name, attributes, children: [], text: '' };
}

export function childOf(node: MathNode | undefined, name: string): MathNode | undefined {
  return node?.children.find((child) => child.name === name);
}

/** Symbols with a command of LaTeX, as LaTeX's own tables and unicode-math name them. */
const COMMANDS: Readonly<Record<string, string>> = {
  ...greek('αβγδεζηθικλμνξπρςστυφχψω', [
    ...['alpha', 'beta', 'gamma', 'delta', 'varepsilon', 'zeta', 'eta', 'theta', 'iota'],
    ...['kappa', 'lambda', 'mu', 'nu', 'xi', 'pi', 'rho', 'varsigma', 'sigma', 'tau'],
    ...['upsilon', 'varphi', 'chi', 'psi', 'omega'],
  ]),
  ...greek('ΓΔΘΛΞΠΣΥΦΨΩϵϕϑ', [
    ...['Gamma', 'Delta', 'Theta', 'Lambda', 'Xi', 'Pi', 'Sigma', 'Upsilon', 'Phi', 'Psi'],
    ...['Omega', 'epsilon', 'phi', 'vartheta'],
  ]),
  '∑': '\\sum',
  '∏': '\\prod',
  '∐': '\\coprod',
  '∫': '\\int',
  '∬': '\\iint',
  '∭': '\\iiint',
  '∮': '\\oint',
  '⋃': '\\bigcup',
  '⋂': '\\bigcap',
  '⋁': '\\bigvee',
  '⋀': '\\bigwedge',
  '∞': '\\infty',
  '∂': '\\partial',
  '∇': '\\nabla',
  '±': '\\pm',
  '∓': '\\mp',
  '×': '\\times',
  '÷': '\\div',
  '⋅': '\\cdot',
  '·': '\\cdot',
  '∗': '*',
  '∘': '\\circ',
  '≤': '\\le',
  '≥': '\\ge',
  '≠': '\\ne',
  '≈': '\\approx',
  '≡': '\\equiv',
  '≅': '\\cong',
  '∼': '\\sim',
  '∝': '\\propto',
  '≪': '\\ll',
  '≫': '\\gg',
  '∈': '\\in',
  '∉': '\\notin',
  '⊂': '\\subset',
  '⊆': '\\subseteq',
  '⊃': '\\supset',
  '⊇': '\\supseteq',
  '∪': '\\cup',
  '∩': '\\cap',
  '∅': '\\emptyset',
  '∀': '\\forall',
  '∃': '\\exists',
  '¬': '\\neg',
  '∧': '\\wedge',
  '∨': '\\vee',
  '→': '\\to',
  '←': '\\leftarrow',
  '↔': '\\leftrightarrow',
  '⇒': '\\Rightarrow',
  '⇐': '\\Leftarrow',
  '⇔': '\\Leftrightarrow',
  '↦': '\\mapsto',
  '…': '\\ldots',
  '⋯': '\\cdots',
  '⋮': '\\vdots',
  '⋱': '\\ddots',
  '′': "'",
  '″': "''",
  ℝ: '\\mathbb{R}',
  ℕ: '\\mathbb{N}',
  ℤ: '\\mathbb{Z}',
  ℚ: '\\mathbb{Q}',
  ℂ: '\\mathbb{C}',
  ℏ: '\\hbar',
  ℓ: '\\ell',
  '⟨': '\\langle',
  '⟩': '\\rangle',
  '⌊': '\\lfloor',
  '⌋': '\\rfloor',
  '⌈': '\\lceil',
  '⌉': '\\rceil',
  '‖': '\\|',
  '−': '-',
  '{': '\\{',
  '}': '\\}',
  '\\': '\\backslash',
  '#': '\\#',
  $: '\\$',
  '%': '\\%',
  '&': '\\&',
  _: '\\_',
};

/** Signs around which LaTeX sets blanks, so that the text is read as people write it. */
const RELATIONS =
  /^(?:[=<>+]|\\(?:pm|mp|times|div|cdot|le|ge|ne|approx|equiv|cong|sim|propto|ll|gg|in|notin|subset|subseteq|supset|supseteq|cup|cap|wedge|vee|to|leftarrow|leftrightarrow|Rightarrow|Leftarrow|Leftrightarrow|mapsto))$/;

const FUNCTIONS = new Set([
  ...['sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'sinh', 'cosh', 'tanh', 'arcsin', 'arccos'],
  ...['arctan', 'log', 'ln', 'lg', 'exp', 'lim', 'max', 'min', 'sup', 'inf', 'det', 'dim', 'gcd'],
]);

/** Marks above a formula, by the character that Office and MathML name them with. */
const ACCENTS: Readonly<Record<string, string>> = {
  '\u0302': 'hat',
  '^': 'hat',
  ˆ: 'hat',
  '\u0303': 'tilde',
  '~': 'tilde',
  '˜': 'tilde',
  '\u0304': 'bar',
  '\u0305': 'overline',
  '¯': 'bar',
  '‾': 'overline',
  '\u0307': 'dot',
  '˙': 'dot',
  '\u0308': 'ddot',
  '¨': 'ddot',
  '\u20d7': 'vec',
  '→': 'vec',
  '\u030c': 'check',
  '\u0306': 'breve',
  '\u0301': 'acute',
  '\u0300': 'grave',
  '⏞': 'overbrace',
  '⏟': 'underbrace',
};

/** A run of characters as LaTeX. */
export function latexOf(text: string): string {
  const plain = normalized(text);
  if (FUNCTIONS.has(plain.trim())) return `\\${plain.trim()} `;
  let latex = '';
  for (const character of plain) {
    const command = Object.hasOwn(COMMANDS, character) ? COMMANDS[character] : undefined;
    latex = joined(latex, command ?? character);
  }
  return latex;
}

/** Letters of mathematical alphabets as plain letters, and without the marks of invisible operators. */
function normalized(text: string): string {
  return text
    .replace(/[\u{1d400}-\u{1d7ff}]/gu, (letter) => letter.normalize('NFKC'))
    .replace(/[\u2061-\u2064\u200b]/g, '')
    .replaceAll('\u00a0', ' ');
}

/** Two parts of a formula behind each other: a command and a letter behind it need a blank between them. */
export function joined(first: string, second: string): string {
  if (first === '' || second === '') return first + second;
  const isCommand = /\\[a-zA-Z]+$/.test(first) && /^[a-zA-Z]/.test(second);
  return isCommand ? `${first} ${second}` : first + second;
}

export function joinedAll(parts: readonly string[]): string {
  return parts.reduce(joined, '');
}

export function scripted(base: string, sub: string, sup: string): string {
  const lower = sub === '' ? '' : `_${script(sub)}`;
  const upper = sup === '' ? '' : /^'+$/.test(sup) ? sup : `^${script(sup)}`;
  return `${base.trim() === '' ? '{}' : base.trimEnd()}${lower}${upper}`;
}

/** A script of one character needs no braces; longer ones do. */
function script(text: string): string {
  const trimmed = text.trim();
  return [...trimmed].length === 1 ? trimmed : `{${trimmed}}`;
}

export function fraction(above: string, below: string): string {
  return `\\frac{${above.trim()}}{${below.trim()}}`;
}

export function root(radicand: string, degree: string): string {
  const index = degree.trim() === '' ? '' : `[${degree.trim()}]`;
  return `\\sqrt${index}{${radicand.trim()}}`;
}

export function accented(base: string, mark: string, fallback = 'overline'): string {
  const command = Object.hasOwn(ACCENTS, mark) ? (ACCENTS[mark] ?? fallback) : fallback;
  return `\\${command}{${base.trim()}}`;
}

export function matrix(rows: readonly (readonly string[])[], environment = 'matrix'): string {
  const lines = rows.map((cells) => cells.map((cell) => cell.trim()).join(' & '));
  return `\\begin{${environment}}${lines.join(' \\\\ ')}\\end{${environment}}`;
}

export function fenced(open: string, content: string, close: string): string {
  const simple = /^[()[\]|]$/;
  if (simple.test(open) && simple.test(close)) return `${open}${content.trim()}${close}`;
  return `\\left${fence(open)} ${content.trim()} \\right${fence(close)}`;
}

/** LaTeX writes a point where there is no fence. */
function fence(character: string): string {
  return character.trim() === '' ? '.' : latexOf(character);
}

/** The whole formula: with a blank on both sides of relations and signs between two operands. */
export function spaced(latex: string): string {
  const tokens = latex.match(/\\[a-zA-Z]+|\\.|./gsu) ?? [];
  let output = '';
  let depth = 0;
  for (const token of tokens) {
    const operand = /[\w})\]'|!]$/.test(output.trimEnd()) || /\\[a-zA-Z]+$/.test(output.trimEnd());
    const isSign = (token === '-' || RELATIONS.test(token)) && operand && !/[_^]$/.test(output);
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    // Signs within the braces of scripts and fractions take no spaces.
    if (isSign && depth === 0) output = `${output.trimEnd()} ${token} `;
    else output = joined(output, token === ' ' && output.endsWith(' ') ? '' : token);
  }
  return output.replace(/ +/g, ' ').trim();
}

function greek(letters: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    [...letters].map((letter, index) => [letter, `\\${names[index] ?? ''}`]),
  );
}

/** A formula of Office (Office Math Markup, ECMA-376 part 1, 22.1) as LaTeX. */
export function ommlToLatex(formula: MathNode): string {
  return spaced(ommlContent(formula));
}

function ommlContent(node: MathNode | undefined): string {
  return node ? joinedAll(node.children.map(ommlNode)) : '';
}

function part(node: MathNode, name: string): string {
  return ommlContent(childOf(node, name));
}

/** The value of a property, such as the character of an operator; undefined where it is not set. */
function property(node: MathNode, group: string, name: string): string | undefined {
  const propertyNode = childOf(childOf(node, group), name);
  return propertyNode && attributeOf(propertyNode.attributes, 'val');
}

/** A property that is on where its element is there, unless it says that it is off. */
function isSet(node: MathNode, group: string, name: string): boolean {
  const propertyNode = childOf(childOf(node, group), name);
  return propertyNode !== undefined && isOn(attributeOf(propertyNode.attributes, 'val'));
}

const writers: Readonly<Record<string, (node: MathNode) => string>> = {
  t: ({ text }) => latexOf(text),
  br: () => ' ',
  f: (node) => {
    const [above, below] = [part(node, 'num'), part(node, 'den')];
    const type = property(node, 'fPr', 'type');
    if (type === 'lin') return `${above}/${below}`;
    return type === 'noBar' ? `\\binom{${above}}{${below}}` : fraction(above, below);
  },
  sSup: (node) => scripted(part(node, 'e'), '', part(node, 'sup')),
  sSub: (node) => scripted(part(node, 'e'), part(node, 'sub'), ''),
  sSubSup: (node) => scripted(part(node, 'e'), part(node, 'sub'), part(node, 'sup')),
  sPre: (node) => `${scripted('{}', part(node, 'sub'), part(node, 'sup'))}${part(node, 'e')}`,
  rad: (node) => root(part(node, 'e'), isSet(node, 'radPr', 'degHide') ? '' : part(node, 'deg')),
  nary: (node) => {
    const operator = latexOf(property(node, 'naryPr', 'chr') ?? '∫');
    return `${scripted(operator, part(node, 'sub'), part(node, 'sup'))} ${part(node, 'e')}`;
  },
  d: delimited,
  m: (node) => matrix(childrenOf(node, 'mr').map((row) => childrenOf(row, 'e').map(ommlContent))),
  eqArr: (node) =>
    matrix(
      childrenOf(node, 'e').map((row) => [ommlContent(row)]),
      'aligned',
    ),
  func: (node) => `${part(node, 'fName').trimEnd()} ${part(node, 'e')}`,
  limLow: (node) => scripted(part(node, 'e'), part(node, 'lim'), ''),
  limUpp: (node) => scripted(part(node, 'e'), '', part(node, 'lim')),
  acc: (node) => accented(part(node, 'e'), property(node, 'accPr', 'chr') ?? '\u0302', 'hat'),
  bar: (node) => {
    const place = property(node, 'barPr', 'pos') === 'top' ? 'overline' : 'underline';
    return `\\${place}{${part(node, 'e')}}`;
  },
  groupChr: (node) =>
    accented(part(node, 'e'), property(node, 'groupChrPr', 'chr') ?? '⏟', 'underbrace'),
  borderBox: (node) => `\\boxed{${part(node, 'e')}}`,
  phant: (node) => part(node, 'e'),
};

function ommlNode(node: MathNode): string {
  const write = Object.hasOwn(writers, node.name) ? writers[node.name] : undefined;
  if (write) return write(node);
  // Properties hold no text of the formula.
  return node.name.endsWith('Pr') ? '' : ommlContent(node);
}

function delimited(node: MathNode): string {
  const separator = property(node, 'dPr', 'sepChr') ?? '|';
  const content = childrenOf(node, 'e').map(ommlContent).join(separator);
  return fenced(
    property(node, 'dPr', 'begChr') ?? '(',
    content,
    property(node, 'dPr', 'endChr') ?? ')',
  );
}

function childrenOf(node: MathNode, name: string): MathNode[] {
  return node.children.filter((child) => child.name === name);
}

/** Encodings of annotations that hold the LaTeX source of the formula. */
const TEX = /^(?:application\/x-(?:la)?tex|tex|latex)$/i;

/** A MathML formula as LaTeX; the source of the author is used if it is included. */
export function mathmlToLatex(formula: MathNode): string {
  const tex = annotationIn(formula);
  return tex ?? spaced(mathmlContent(formula));
}

function annotationIn(node: MathNode): string | undefined {
  if (node.name === 'annotation' && TEX.test(node.attributes.encoding ?? '')) {
    const tex = node.text.trim();
    return tex === '' ? undefined : tex.replace(/^\{\\displaystyle\s+(.*)\}$/s, '$1');
  }
  for (const child of node.children) {
    const annotation = annotationIn(child);
    if (annotation !== undefined) return annotation;
  }
  return undefined;
}

function mathmlContent(node: MathNode | undefined): string {
  return node ? joinedAll(node.children.map(mathmlNode)) : '';
}

/** The element as its parent wants it at this place; empty where there is none. */
function at(node: MathNode, index: number): string {
  const child = node.children.at(index);
  return child ? mathmlNode(child) : '';
}

const MARKS = /^[\u0300-\u036f\u20d7^ˆ~˜¯‾˙¨→⏞]$/;

function mathmlNode(node: MathNode): string {
  const text = node.text.replace(/\s+/g, ' ').trim();
  switch (node.name) {
    case 'mi':
    case 'mn':
    case 'mo':
      return latexOf(text);
    case 'mtext':
    case 'ms':
      return text === '' ? ' ' : `\\text{${text}}`;
    case 'mspace':
      return ' ';
    case 'mfrac':
      return fraction(at(node, 0), at(node, 1));
    case 'msqrt':
      return root(mathmlContent(node), '');
    case 'mroot':
      return root(at(node, 0), at(node, 1));
    case 'msup':
      return scripted(at(node, 0), '', at(node, 1));
    case 'msub':
      return scripted(at(node, 0), at(node, 1), '');
    case 'msubsup':
    case 'munderover':
      return operator(scripted(at(node, 0), at(node, 1), at(node, 2)));
    case 'munder':
      return operator(scripted(at(node, 0), at(node, 1), ''));
    case 'mover':
      return over(node);
    case 'mmultiscripts':
      return scripted(at(node, 0), at(node, 1), at(node, 2));
    case 'mfenced':
      return fenced(
        node.attributes.open ?? '(',
        node.children.map(mathmlNode).join(`${node.attributes.separators ?? ','} `),
        node.attributes.close ?? ')',
      );
    case 'mtable':
      return matrix(node.children.map((row) => row.children.map(mathmlContent)));
    case 'none':
    case 'mphantom':
    case 'annotation':
    case 'annotation-xml':
      return '';
    default:
      return node.children.length > 0 ? mathmlContent(node) : latexOf(text);
  }
}

/** Separates an operator from its operand, such as the bounds of a sum from its term. */
function operator(formula: string): string {
  return /^\\(?:sum|prod|coprod|i*int|oint|big\w+|lim|max|min|sup|inf)[_^]/.test(formula)
    ? `${formula} `
    : formula;
}

function over(node: MathNode): string {
  const mark = node.children.at(1)?.text.trim() ?? '';
  return MARKS.test(mark) ? accented(at(node, 0), mark) : scripted(at(node, 0), '', at(node, 1));
}
