import { endOfText, startOfText } from './block.js';
import type { Block, Span, Joints } from './block.js';
import type { Group } from './section.js';
import { linesCut, overlapStart, proseCut } from './prose.js';
import type { CutRange } from './prose.js';

/** The range of one fragment, the header to repeat above it, and the blocks that its own text is from. */
export interface Piece extends Span {
  readonly header?: Span;
  readonly blocks: Group;
}

export interface PackingRules {
  readonly size: number;
  readonly overlap: number;
  /** A separator of blanks: where prose is rather cut. */
  readonly softSeparator: string;
}

/** Prose that fits into the next fragment as a whole is moved there only when this one is as full as that. */
const WORTH_KEEPING = 1 / 4;
/** A fragment as full as that may end before a block that is cut anyway. */
const WELL_FILLED = 1 / 2;
/** A cut inside of a block is not sought before this share of the fragment. */
const EARLIEST_CUT = 1 / 4;

/** Divides the blocks of one group into fragments, filling each as far as good places to cut allow. */
export function pack(
  text: string,
  blocks: readonly Block[],
  group: Group,
  rules: PackingRules,
): Piece[] {
  return new Packing(text, blocks, group, rules).run();
}

class Packing {
  private readonly pieces: Piece[] = [];
  /** The block and the place from which on text is in no fragment yet. */
  private index: number;
  private at: number;
  /** Start offset of the fragment, including its overlap. */
  private start: number;
  private header: Span | undefined;

  constructor(
    private readonly text: string,
    private readonly blocks: readonly Block[],
    private readonly group: Group,
    private readonly rules: PackingRules,
  ) {
    this.index = group.first;
    this.at = this.block(group.first).start;
    this.start = this.at;
    this.begin(group.first);
  }

  run(): Piece[] {
    while (this.index < this.group.end) this.step();
    return this.pieces;
  }

  private step(): void {
    const { index, group } = this;
    const first = this.block(index);
    if (first.type === 'row' && first.header && !this.header && this.at >= first.start) {
      this.takeBareRow(first);
      return;
    }
    const limit = this.limit();
    let over = index;
    while (over < group.end && this.block(over).end <= limit) over += 1;
    const cut = this.boundaryBefore(this.startOfFittingTable(over) ?? over);
    if (over === group.end) this.cutBefore(over);
    else if (cut > index && this.isGoodBoundary(cut, over, limit)) this.cutBefore(cut);
    else if (over > index && !this.isDivisible(over, limit)) this.cutBefore(this.lastWhole(over));
    else this.cutInside(over, limit);
  }

  private limit(): number {
    const { size } = this.rules;
    return this.start + size - (this.header ? lengthAbove(this.header) : 0);
  }

  /** The last boundary before a block that leaves no heading or header without what it stands above. */
  private boundaryBefore(over: number): number {
    let cut = over;
    while (cut > this.index && isLeading(this.block(cut - 1))) cut -= 1;
    return cut;
  }

  /** The header of the table that a row is of, if that began in this fragment and fits into one of its own. */
  private startOfFittingTable(over: number): number | undefined {
    const header = over < this.group.end ? this.block(over).header : undefined;
    if (!header) return undefined;
    let first = over;
    while (first > this.index && this.block(first - 1).start >= header.start) first -= 1;
    if (this.block(first).start !== header.start) return undefined;
    const start = this.block(this.boundaryBefore(first)).start;
    for (let row = over; row < this.group.end && this.block(row).header === header; row += 1) {
      if (this.block(row).end - start > this.rules.size) return undefined;
    }
    return first;
  }

  private isGoodBoundary(cut: number, over: number, limit: number): boolean {
    const next = this.block(over);
    if (isTabular(next)) return true;
    if (limit - next.start < this.rules.size * EARLIEST_CUT) return true;
    const filled = this.block(cut - 1).end - this.at;
    const fits = next.end - this.block(cut).start + this.overlapBefore(cut) <= this.rules.size;
    if (fits && next.type !== 'prose') return true;
    return filled >= (limit - this.at) * (fits ? WORTH_KEEPING : WELL_FILLED);
  }

  /** Maximum overlap of a fragment that starts with the block. */
  private overlapBefore(index: number): number {
    const goesOn = isRepeatedInto(this.block(index)) && this.block(index - 1).type === 'prose';
    return goesOn ? this.rules.overlap : 0;
  }

  private isDivisible(over: number, limit: number): boolean {
    const block = this.block(over);
    return !isTabular(block) && block.type !== 'heading' && block.start < limit;
  }

  /** The boundary before a row or header that does not fit below its headings: with its header if those two do. */
  private lastWhole(over: number): number {
    let cut = over;
    const { end } = this.block(over);
    while (cut - 1 > this.index && this.block(cut - 1).type === 'header') {
      if (end - this.block(cut - 1).start > this.rules.size) break;
      cut -= 1;
    }
    return cut;
  }

  private cutBefore(next: number): void {
    const above = this.close(this.block(next - 1).end, next - 1);
    this.index = next;
    if (next < this.group.end) this.begin(next, above);
  }

  private cutInside(over: number, limit: number): void {
    const block = this.block(over);
    const from = Math.max(this.at, block.start);
    const early = Math.max(from, this.at + Math.floor((limit - this.at) * EARLIEST_CUT));
    const cut = this.cutOf(block, { from, limit, early });
    // A range of 1 does not hold a surrogate pair.
    if (over > this.index && endOfText(this.text, from, cut) > limit) {
      this.cutBefore(over);
      return;
    }
    if (this.start < this.at && endOfText(this.text, from, cut) > limit) {
      this.start = this.at;
      return;
    }
    const above = this.close(cut, over);
    this.index = over;
    this.at = startOfText(this.text, cut, block.end);
    this.header = undefined;
    this.start = this.overlapInside(over, cut, above);
  }

  private cutOf(block: Block, range: CutRange): number {
    if (block.type === 'lines') return linesCut(this.text, range);
    if (block.joints) return valueCut(this.text, range, block.joints);
    return proseCut(this.text, range, this.rules.softSeparator);
  }

  /** A row too long for its header, alone in its fragments. */
  private takeBareRow(row: Block): void {
    const limit = this.at + this.rules.size;
    if (row.end <= limit) {
      this.cutBefore(this.index + 1);
      return;
    }
    this.cutInside(this.index, limit);
    this.start = this.at;
  }

  private begin(index: number, above?: Piece): void {
    const block = this.block(index);
    this.at = block.start;
    this.start = block.start;
    this.header = this.fittingHeader(block);
    if (above && isRepeatedInto(block)) this.start = this.repeat(above, index);
  }

  private fittingHeader(block: Block): Span | undefined {
    const { header } = block;
    if (block.type !== 'row' || !header) return undefined;
    const fits = lengthAbove(header) + block.end - block.start <= this.rules.size;
    return fits ? header : undefined;
  }

  /** Ends the fragment; there is none when all it would add to the one above is blank. */
  private close(cut: number, last: number): Piece | undefined {
    const end = endOfText(this.text, this.at, cut);
    if (end === this.at) return undefined;
    const piece: Piece = {
      start: startOfText(this.text, this.start, end),
      end,
      ...(this.header ? { header: this.header } : {}),
      blocks: { first: this.index, end: last + 1 },
    };
    this.pieces.push(piece);
    return piece;
  }

  private overlapInside(index: number, cut: number, above: Piece | undefined): number {
    const block = this.block(index);
    const betweenValues = block.joints && isJoint(block.joints, cut);
    if (!above || isTabular(block) || betweenValues) return this.at;
    return this.repeat(above, index);
  }

  /** Only prose is repeated, and code within code that is cut. */
  private repeat(above: Piece, index: number): number {
    let first = index;
    const { size, overlap: longest } = this.rules;
    // A character of its own text has to fit.
    const availableLength = size - 1;
    const earliest = above.end - longest;
    while (first > this.group.first && this.block(first).start > earliest) {
      if (this.block(first - 1).type !== 'prose') break;
      first -= 1;
    }
    const floor = this.block(first).start;
    const lines = this.block(index).type === 'lines' && floor < this.at && first === index;
    return overlapStart(this.text, { at: this.at, longest, availableLength, above, floor, lines });
  }

  private block(index: number): Block {
    const block = this.blocks[index];
    if (!block) throw new RangeError(`There is no block ${index}.`);
    return block;
  }
}

function isLeading({ type }: Block): boolean {
  return type === 'heading' || type === 'header';
}

function isRepeatedInto({ type }: Block): boolean {
  return type === 'prose' || type === 'lines';
}

function isTabular({ type }: Block): boolean {
  return type === 'header' || type === 'row';
}

/** Characters that a header adds above a fragment: its text and a line feed. */
function lengthAbove(header: Span): number {
  return header.end - header.start + 1;
}

/**
 * Cut of JSON that exceeds the limit: at the last of the outermost joints within it, if that is behind `early` or the
 * value behind it fits into a fragment of its own; else at the last of the outermost joints behind `early`. A value
 * longer than the limit is cut as prose.
 */
export function valueCut(text: string, range: CutRange, joints: Joints): number {
  const early = Math.max(range.early, range.from);
  const outermost = lastOutermost(joints, range.from, range.limit);
  if (outermost) {
    if (outermost.position > early) return outermost.position;
    if (fitsBehind(joints, outermost, range)) return outermost.position;
  }
  const joint = lastOutermost(joints, early, range.limit);
  return joint ? joint.position : proseCut(text, range, '');
}

interface Joint {
  readonly index: number;
  readonly position: number;
  readonly depth: number;
}

/** The last of the joints with the least depth behind `from` and up to `limit`. */
function lastOutermost(joints: Joints, from: number, limit: number): Joint | undefined {
  let outermost: Joint | undefined;
  for (let index = indexAfter(joints.positions, limit) - 1; index >= 0; index -= 1) {
    const position = joints.positions[index] ?? 0;
    if (position <= from) break;
    const depth = joints.depths[index] ?? 0;
    if (!outermost || depth < outermost.depth) outermost = { index, position, depth };
  }
  return outermost;
}

/** Whether the value behind a joint ends before a fragment that begins with it does. */
function fitsBehind({ positions, depths }: Joints, joint: Joint, range: CutRange): boolean {
  const end = joint.position + range.limit - range.from;
  for (let index = joint.index + 1; index < positions.length; index += 1) {
    if ((positions[index] ?? 0) > end) return false;
    if ((depths[index] ?? 0) <= joint.depth) return true;
  }
  return false;
}

export function isJoint({ positions }: Joints, at: number): boolean {
  return positions[indexAfter(positions, at) - 1] === at;
}

function indexAfter(positions: readonly number[], at: number): number {
  let low = 0;
  let high = positions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((positions[middle] ?? 0) <= at) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The nesting so far; the brackets inside of strings are text. */
interface Nesting {
  depth: number;
  inString: boolean;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const LINE_FEED = 0x0a;
const OPENING = [0x5b, 0x7b];
const CLOSING = [0x5d, 0x7d];

/**
 * The whole text as one value, with the places between the parts of it, or between the values of its lines. Text that
 * is not JSON has such places somewhere.
 */
export function valueBlocks(text: string): Block[] {
  const joints = { positions: [] as number[], depths: [] as number[] };
  const nesting: Nesting = { depth: 0, inString: false };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (nesting.inString && code === BACKSLASH) {
      at += 1;
    } else if (separates(code, nesting)) {
      joints.positions.push(at + 1);
      joints.depths.push(nesting.depth);
    }
  }
  return [{ type: 'value', start: 0, end: text.length, joints }];
}

/** Reads one character; true when a value ends with it and another may follow. */
function separates(code: number, nesting: Nesting): boolean {
  if (code === QUOTE) nesting.inString = !nesting.inString;
  if (nesting.inString) return false;
  if (OPENING.includes(code)) nesting.depth += 1;
  if (CLOSING.includes(code)) nesting.depth = Math.max(0, nesting.depth - 1);
  return code === COMMA || (code === LINE_FEED && nesting.depth === 0);
}
