import type { Block } from './block.js';

/** A heading with what stands below it, up to the next heading that is not deeper; the outermost has no heading. */
export interface Section {
  readonly title: string;
  readonly level: number;
  readonly parent: Section | undefined;
  readonly children: Section[];
  /** Block ranges: from its heading to its first child, and to the end of its last child. */
  readonly first: number;
  ownEnd: number;
  end: number;
}

const OUTERMOST_LEVEL = 0;
const DEEPEST_LEVEL = 9;
const MAX_TITLE_CHARS = 200;

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
  const title = (block.title ?? '').slice(0, MAX_TITLE_CHARS).replace(/\s+/g, ' ').trim();
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
  let ancestor = one;
  let otherAncestor = other;
  while (ancestor !== otherAncestor) {
    if (ancestor.level >= otherAncestor.level && ancestor.parent) ancestor = ancestor.parent;
    else if (otherAncestor.parent) otherAncestor = otherAncestor.parent;
    else return otherAncestor;
  }
  return ancestor;
}

/** Blocks by their index; the end is exclusive. */
export interface Group {
  readonly first: number;
  readonly end: number;
}

interface Part extends Group {
  /** A whole section, or the text above its subsections, that is short enough to be joined with a neighbour. */
  readonly small: boolean;
}

/** Parts up to this share of a fragment are joined with neighbours under the same heading, up to the other share. */
const SMALL = 1 / 4;
const JOINED = 1 / 2;

/**
 * Groups the blocks that may share a fragment. A section that fits with all its subsections is one group, so a document
 * that fits is one as well. A longer section has a group for the text above its subsections and one for each
 * subsection; small neighbours among them are joined. A heading without text of its own goes with its first subsection.
 * A group does not extend across a visible separator or a sheet.
 */
export function groupBlocks(blocks: readonly Block[], root: Section, size: number): Group[] {
  return new Grouping(blocks, size).partsOf(root).flatMap((part) => atSeparators(blocks, part));
}

class Grouping {
  /** Number of non-heading blocks before each block. */
  private readonly texts: number[] = [0];

  constructor(
    private readonly blocks: readonly Block[],
    private readonly size: number,
  ) {
    let count = 0;
    for (const { type } of blocks) {
      if (type !== 'heading') count += 1;
      this.texts.push(count);
    }
  }

  partsOf(section: Section): Part[] {
    const { first, end, ownEnd } = section;
    if (end === first) return [];
    if (this.lengthOf({ first, end }) <= this.size) return [this.part({ first, end })];
    const ownPart = ownEnd > first ? [this.part({ first, end: ownEnd })] : [];
    const below = section.children.flatMap((child) => {
      const parts = this.partsOf(child);
      // Parts of a subsection are not siblings of those of the next one.
      return parts.length === 1 ? parts : parts.map((part) => ({ ...part, small: false }));
    });
    return this.joined([...ownPart, ...below]);
  }

  private part(group: Group): Part {
    return { ...group, small: this.lengthOf(group) <= this.size * SMALL };
  }

  private joined(parts: readonly Part[]): Part[] {
    const joined: Part[] = [];
    for (const part of parts) {
      const above = joined.at(-1);
      const both = above && { ...part, first: above.first };
      if (both && (this.isBare(above) || this.areSmall(above, part, both)))
        joined.splice(-1, 1, both);
      else joined.push(part);
    }
    return joined;
  }

  private areSmall(above: Part, part: Part, both: Group): boolean {
    return above.small && part.small && this.lengthOf(both) <= this.size * JOINED;
  }

  /** Whether the group has headings only, which are joined with the text that follows. */
  private isBare({ first, end }: Group): boolean {
    return this.texts[first] === this.texts[end];
  }

  private lengthOf({ first, end }: Group): number {
    return (this.blocks[end - 1]?.end ?? 0) - (this.blocks[first]?.start ?? 0);
  }
}

function atSeparators(blocks: readonly Block[], { first, end }: Group): Group[] {
  const groups: Group[] = [];
  let start = first;
  for (let index = first + 1; index < end; index += 1) {
    if (!blocks[index]?.separated) continue;
    groups.push({ first: start, end: index });
    start = index;
  }
  return [...groups, { first: start, end }];
}
