import type { XmlAttributes } from '../xml-reader.js';

/** An element of a formula, as OMML (ECMA-376 part 1, 22.1) and MathML (W3C) write them. */
export interface MathNode {
  readonly name: string;
  readonly attributes: XmlAttributes;
  readonly children: MathNode[];
  /** Of the element itself. */
  text: string;
}

/** Elements and levels of a formula at most; what lies beyond is left out. */
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

  /** Whether all elements that were opened are closed. */
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
