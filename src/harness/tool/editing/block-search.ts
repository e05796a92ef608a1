import { LineNumbers, occurrences } from './occurrences.js';
import { indentOf, withoutTrailing } from './text-content.js';

/** How a block of lines was found: as given, or by one of the two safe fallbacks. */
export type FoundBy = 'exact' | 'trailing-spaces' | 'indentation';

export interface FoundBlock {
  /** Indexes, from 0, of the lines at which the block begins. */
  readonly at: readonly number[];
  readonly by: FoundBy;
  /** Fits a line of the replacement to the place that begins there; undefined when it cannot be fitted. */
  readonly fit: (line: string, start: number) => string | undefined;
}

/** More places than a person would look at. */
const MOST_INDENTED = 1_000;
/** Lines whose indentation is compared at most, unless there is one place only: some tenths of a second. */
const MOST_COMPARED = 2_000_000;

const asGiven = (line: string): string => line;

/**
 * Finds blocks of whole lines in one file: as given; else but for spaces at the ends of lines; else but for one and the
 * same indentation before all of them. A fallback is for the caller to take only where it finds one place.
 */
export class BlockSearch {
  private readonly exact = new LineNumbers();
  private readonly untrailed = new LineNumbers();
  private readonly trimmed = new LineNumbers();
  private readonly numbers: Partial<Record<FoundBy, Int32Array>> = {};

  /** `lines` without what ends them. */
  constructor(private readonly lines: readonly string[]) {}

  /** The places as given; empty when there are none. */
  exactly(block: readonly string[]): FoundBlock {
    const file = (this.numbers.exact ??= this.exact.of(this.lines));
    return { at: occurrences(file, this.exact.of(block)), by: 'exact', fit: asGiven };
  }

  /** The places by the fallbacks, the first one that finds any. */
  loosely(block: readonly string[]): FoundBlock | undefined {
    if (block.every((line) => line.trim() === '')) return undefined;
    return this.butForTrailing(block) ?? this.butForIndentation(block);
  }

  private butForTrailing(block: readonly string[]): FoundBlock | undefined {
    const by = 'trailing-spaces';
    const file = (this.numbers[by] ??= this.untrailed.of(this.lines.map(withoutTrailing)));
    const at = occurrences(file, this.untrailed.of(block.map(withoutTrailing)));
    return at.length > 0 ? { at, by, fit: asGiven } : undefined;
  }

  private butForIndentation(block: readonly string[]): FoundBlock | undefined {
    const by = 'indentation';
    const file = (this.numbers[by] ??= this.trimmed.of(this.lines.map(trimmed)));
    const candidates = occurrences(file, this.trimmed.of(block.map(trimmed)));
    const compared = candidates.length * block.length;
    if (candidates.length > MOST_INDENTED) return undefined;
    if (candidates.length > 1 && compared > MOST_COMPARED) return undefined;
    const shifts = new Map<number, Shift>();
    for (const start of candidates) {
      const shift = shiftOf(this.lines.slice(start, start + block.length), block);
      if (shift) shifts.set(start, shift);
    }
    if (shifts.size === 0) return undefined;
    const fit: FoundBlock['fit'] = (line, start) => {
      const shift = shifts.get(start);
      return shift && shifted(line, shift);
    };
    return { at: [...shifts.keys()], by, fit };
  }
}

/** What the file has before every line and the block has not, or the other way round. */
interface Shift {
  readonly adds: boolean;
  readonly indent: string;
}

function shiftOf(lines: readonly string[], block: readonly string[]): Shift | undefined {
  let common: Shift | undefined;
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const shift = shiftOfLine(indentOf(line), indentOf(block[index] ?? ''));
    if (!shift || (common && (common.adds !== shift.adds || common.indent !== shift.indent))) {
      return undefined;
    }
    common = shift;
  }
  return common;
}

function shiftOfLine(inFile: string, inBlock: string): Shift | undefined {
  if (inFile.endsWith(inBlock)) {
    return { adds: true, indent: inFile.slice(0, inFile.length - inBlock.length) };
  }
  if (!inBlock.endsWith(inFile)) return undefined;
  return { adds: false, indent: inBlock.slice(0, inBlock.length - inFile.length) };
}

function shifted(line: string, { adds, indent }: Shift): string | undefined {
  if (line.trim() === '') return line;
  if (adds) return indent + line;
  return line.startsWith(indent) ? line.slice(indent.length) : undefined;
}

/** Without spaces and tabs at both ends; other white space is text. */
function trimmed(line: string): string {
  return withoutTrailing(line).slice(indentOf(line).length);
}
