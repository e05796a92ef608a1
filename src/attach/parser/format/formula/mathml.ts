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
import type { MathNode } from './math-tree.js';

/** What authors write beside the formula in LaTeX itself. */
const TEX = /^(?:application\/x-(?:la)?tex|tex|latex)$/i;

/** A formula of a page (MathML) as LaTeX: as its author wrote it where that stands beside it. */
export function mathmlToLatex(formula: MathNode): string {
  const tex = annotationIn(formula);
  return tex ?? spaced(contentOf(formula));
}

function annotationIn(node: MathNode): string | undefined {
  if (node.name === 'annotation' && TEX.test(node.attributes.encoding ?? '')) {
    const tex = node.text.trim();
    return tex === '' ? undefined : tex.replace(/^\{\\displaystyle\s+(.*)\}$/s, '$1');
  }
  for (const child of node.children) {
    const found = annotationIn(child);
    if (found !== undefined) return found;
  }
  return undefined;
}

function contentOf(node: MathNode | undefined): string {
  return node ? joinedAll(node.children.map(latex)) : '';
}

/** The element as its parent wants it at this place; empty where there is none. */
function at(node: MathNode, index: number): string {
  const child = node.children.at(index);
  return child ? latex(child) : '';
}

const MARKS = /^[\u0300-\u036f\u20d7^ˆ~˜¯‾˙¨→⏞]$/;

function latex(node: MathNode): string {
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
      return root(contentOf(node), '');
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
        node.children.map(latex).join(`${node.attributes.separators ?? ','} `),
        node.attributes.close ?? ')',
      );
    case 'mtable':
      return matrix(node.children.map((row) => row.children.map(contentOf)));
    case 'none':
    case 'mphantom':
    case 'annotation':
    case 'annotation-xml':
      return '';
    default:
      return node.children.length > 0 ? contentOf(node) : latexOf(text);
  }
}

/** What a sum or a limit applies to stands apart from its bounds. */
function operator(formula: string): string {
  return /^\\(?:sum|prod|coprod|i*int|oint|big\w+|lim|max|min|sup|inf)[_^]/.test(formula)
    ? `${formula} `
    : formula;
}

function over(node: MathNode): string {
  const mark = node.children.at(1)?.text.trim() ?? '';
  return MARKS.test(mark) ? accented(at(node, 0), mark) : scripted(at(node, 0), '', at(node, 1));
}
