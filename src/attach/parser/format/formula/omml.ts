import { attributeOf, isOn } from '../xml-reader.js';
import {
  accented,
  fenced,
  fraction,
  joinedAll,
  latexOf,
  matrix,
  root,
  scripted,
  spaced,
} from './latex.js';
import { childOf } from './math-tree.js';
import type { MathNode } from './math-tree.js';

/** A formula of Office (Office Math Markup, ECMA-376 part 1, 22.1) as LaTeX. */
export function ommlToLatex(formula: MathNode): string {
  return spaced(contentOf(formula));
}

function contentOf(node: MathNode | undefined): string {
  return node ? joinedAll(node.children.map(latex)) : '';
}

function part(node: MathNode, name: string): string {
  return contentOf(childOf(node, name));
}

/** The value of a property, such as the character of an operator; undefined where it is not set. */
function property(node: MathNode, group: string, name: string): string | undefined {
  const found = childOf(childOf(node, group), name);
  return found && attributeOf(found.attributes, 'val');
}

/** A property that is on where its element is there, unless it says that it is off. */
function isSet(node: MathNode, group: string, name: string): boolean {
  const found = childOf(childOf(node, group), name);
  return found !== undefined && isOn(attributeOf(found.attributes, 'val'));
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
  m: (node) => matrix(childrenOf(node, 'mr').map((row) => childrenOf(row, 'e').map(contentOf))),
  eqArr: (node) =>
    matrix(
      childrenOf(node, 'e').map((row) => [contentOf(row)]),
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

function latex(node: MathNode): string {
  const write = Object.hasOwn(writers, node.name) ? writers[node.name] : undefined;
  if (write) return write(node);
  // Properties hold no text of the formula.
  return node.name.endsWith('Pr') ? '' : contentOf(node);
}

function delimited(node: MathNode): string {
  const separator = property(node, 'dPr', 'sepChr') ?? '|';
  const content = childrenOf(node, 'e').map(contentOf).join(separator);
  return fenced(
    property(node, 'dPr', 'begChr') ?? '(',
    content,
    property(node, 'dPr', 'endChr') ?? ')',
  );
}

function childrenOf(node: MathNode, name: string): MathNode[] {
  return node.children.filter((child) => child.name === name);
}
