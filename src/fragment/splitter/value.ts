import type { Block, Joints } from './block.js';
import { proseCut } from './prose.js';
import type { Room } from './prose.js';

/**
 * Where JSON that goes on beyond the room is cut: at the last of the outermost joints in the room, when that is behind
 * `early` or when the value behind it fits into a fragment of its own; else at the last of the outermost joints behind
 * `early`. A value that is longer than the room is cut as prose.
 */
export function valueCut(text: string, room: Room, joints: Joints): number {
  const early = Math.max(room.early, room.from);
  const outermost = lastOutermost(joints, room.from, room.limit);
  if (outermost) {
    if (outermost.position > early) return outermost.position;
    if (fitsBehind(joints, outermost, room)) return outermost.position;
  }
  const found = lastOutermost(joints, early, room.limit);
  return found ? found.position : proseCut(text, room, '');
}

interface Joint {
  readonly index: number;
  readonly position: number;
  readonly depth: number;
}

/** The last of the joints with the least depth behind `from` and up to `limit`. */
function lastOutermost(joints: Joints, from: number, limit: number): Joint | undefined {
  let found: Joint | undefined;
  for (let index = indexAfter(joints.positions, limit) - 1; index >= 0; index -= 1) {
    const position = joints.positions[index] ?? 0;
    if (position <= from) break;
    const depth = joints.depths[index] ?? 0;
    if (!found || depth < found.depth) found = { index, position, depth };
  }
  return found;
}

/** Whether the value behind a joint ends before a fragment that begins with it does. */
function fitsBehind({ positions, depths }: Joints, joint: Joint, room: Room): boolean {
  const end = joint.position + room.limit - room.from;
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
