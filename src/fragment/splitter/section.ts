import type { Block } from './block.js';

/** A heading with what stands below it, up to the next heading that is not deeper; the outermost has no heading. */
export interface Section {
  readonly title: string;
  readonly level: number;
  readonly parent: Section | undefined;
  readonly children: Section[];
  /** Its blocks: from its heading up to those of its first child, and up to those of its last child. */
  readonly first: number;
  ownEnd: number;
  end: number;
}

const OUTERMOST_LEVEL = 0;
const DEEPEST_LEVEL = 9;
const LONGEST_TITLE = 200;

/** The sections of the blocks: the outermost, and for each block its own. */
export function readSections(blocks: readonly Block[]): { root: Section; sectionOf: Section[] } {
  const root = newSection({ title: '', level: OUTERMOST_LEVEL, parent: undefined, first: 0 });
  let current = root;
  const sectionOf = blocks.map((block, index) => {
    if (block.type === 'heading') {
      const level = Math.min(Math.max(block.level ?? 1, 1), DEEPEST_LEVEL);
      let parent = current;
      while (parent.parent && parent.level >= level) parent = parent.parent;
      current = newSection({ title: titleOf(block), level, parent, first: index });
      parent.children.push(current);
    }
    for (let section: Section | undefined = current; section; section = section.parent) {
      section.end = index + 1;
    }
    current.ownEnd = index + 1;
    return current;
  });
  return { root, sectionOf };
}

function newSection(at: Pick<Section, 'title' | 'level' | 'parent' | 'first'>): Section {
  return { ...at, children: [], ownEnd: at.first, end: at.first };
}

function titleOf(block: Block): string {
  const title = (block.title ?? '').slice(0, LONGEST_TITLE).replace(/\s+/g, ' ').trim();
  return title.toWellFormed() === title ? title : title.slice(0, -1);
}

/** The titles of the innermost section that holds all of the given ones, outermost first. */
export function commonPath(sections: Iterable<Section>): string[] {
  let common: Section | undefined;
  for (const section of sections) common = common ? commonOf(common, section) : section;
  const path: string[] = [];
  for (let section = common; section?.parent; section = section.parent) path.unshift(section.title);
  return path;
}

function commonOf(one: Section, other: Section): Section {
  let left = one;
  let right = other;
  while (left !== right) {
    if (left.level >= right.level && left.parent) left = left.parent;
    else if (right.parent) right = right.parent;
    else return right;
  }
  return left;
}
