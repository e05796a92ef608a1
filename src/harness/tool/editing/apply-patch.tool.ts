import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ToolError, newFileMode } from '../../protocol/tool-call.js';
import type { PlannedFile } from '../../protocol/tool-call.js';
import { displayPath } from '../../workspace/workspace-path.js';
import { TextLines } from '../tool.js';
import type { LineEnd, FilePlan, FileTool, ToolContext } from '../tool.js';
import {
  findEditable,
  getEditable,
  givenText,
  pathOfFile,
  planCreate,
  planDelete,
  planUpdate,
  requireSeen,
} from './edit.tools.js';
import type { EditableFile } from './edit.tools.js';
import { parsePatch, refused } from './patch.js';
import type { Hunk, PatchSection } from './patch.js';
import {
  ambiguous,
  BlockSearch,
  closestLines,
  decodeText,
  encodeText,
  MAX_TEXT_BYTES,
  tooLarge,
} from './text-edit.js';
import type { BlockMatches, Match } from './text-edit.js';

const MAX_PATCH_BYTES = 256 * 1024;
const MAX_FILES = 50;
/** Contents of all files together, before and after: they are in memory until they are stored. */
const MAX_CONTENT_BYTES = 64 * 1024 * 1024;

const input = z.strictObject({
  patch: givenText(MAX_PATCH_BYTES).min(1).describe('The whole patch, at most 256 KiB'),
});

type PatchInput = z.output<typeof input>;

/** Changes several files by one patch, all or none. */
@Injectable()
export class ApplyPatchTool implements FileTool<PatchInput> {
  readonly name = 'apply_patch';
  readonly effectClass = 'FILE';
  readonly input = input;
  readonly description = `Adds, changes, deletes and moves up to 50 files by one patch of at most 256 KiB; when one part cannot be done, nothing is. Every file that is changed must have been read with read_file, or shown by a command, in this session and be unchanged since. Two forms are understood.
1. "*** Begin Patch", then parts, then "*** End Patch". Parts: "*** Add File: path" followed by the lines of the file, each after a + (a file that is there already is replaced if it was read); "*** Delete File: path"; "*** Update File: path", at most one "*** Move to: path" right after it, and hunks. A hunk begins with "@@", or with "@@ " and a line of the file behind which it is to be looked for; its lines begin with a space (kept), - (removed) or + (added). "*** End of File" after a hunk says that it ends with the file.
2. A unified diff: "--- a/path", "+++ b/path" (/dev/null for a file that is added or deleted; "rename from" and "rename to" for a move), and hunks with "@@ -12,7 +12,8 @@" whose numbers of lines are right.
Kept and removed lines must be in the file exactly, in one place or at the line that the hunk names; they may differ in spaces at the ends of lines, by one indentation or by plain quotes and dashes for typographic ones if that fits one place only. In the first form, lines that are added with no other lines in the last hunk come at the end of the file, or right behind the line after "@@ ".`;

  title({ patch }: PatchInput): string {
    try {
      const paths = parsePatch(patch).map(({ path }) => path);
      const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
      return `patch ${paths.slice(0, 3).join(', ')}${more}`;
    } catch {
      return 'apply a patch';
    }
  }

  async plan({ patch }: PatchInput, context: ToolContext): Promise<FilePlan> {
    if (Buffer.byteLength(patch) > MAX_PATCH_BYTES) {
      throw new ToolError('TOO_LARGE', 'The patch has more than 256 KiB. Split it.');
    }
    const sections = parsePatch(patch);
    if (sections.length === 0) throw refused('it names no file.');
    if (sections.length > MAX_FILES) {
      throw refused(
        `it names ${sections.length} files; at most ${MAX_FILES} can be changed at once.`,
      );
    }
    checkPlaces(context, sections);
    const planned: PlannedSection[] = [];
    const contents = new Set<Buffer>();
    for (const section of sections) {
      const done = await planSection(context, section);
      planned.push(done);
      for (const content of contentsOf(done)) contents.add(content);
      if (lengthOf(contents) > MAX_CONTENT_BYTES) throw tooMuch();
    }
    return {
      files: planned.flatMap(({ files }) => files),
      content: `Applied the patch:\n${planned.map(({ description }) => `- ${description}`).join('\n')}`,
      summary: `patched ${sections.length} file(s)`,
    };
  }
}

function contentsOf({ files }: PlannedSection): Buffer[] {
  return files
    .flatMap(({ beforeContent, afterContent }) => [beforeContent, afterContent])
    .filter((content) => content !== null);
}

function lengthOf(contents: ReadonlySet<Buffer>): number {
  return [...contents].reduce((sum, { length }) => sum + length, 0);
}

function tooMuch(): ToolError {
  return new ToolError(
    'TOO_LARGE',
    'The files of the patch, as they are and as they are to be, come to more than 64 MiB. Nothing was changed. Split the patch into several with fewer files each.',
  );
}

interface PlannedSection {
  readonly files: readonly PlannedFile[];
  /** One line for the model. */
  readonly description: string;
}

/** PATCH_REFUSED when the patch names a file twice, or a new file where another one needs a folder. */
function checkPlaces(context: ToolContext, sections: readonly PatchSection[]): void {
  const paths = sections.flatMap((section) => {
    const to = section.kind === 'update' ? section.to : undefined;
    return [section.path, ...(to === undefined ? [] : [to])].map((path) =>
      pathOfFile(context, path),
    );
  });
  const namedPaths = new Set<string>();
  for (const path of paths) {
    if (namedPaths.has(path)) {
      throw refused(`it names ${displayPath(path)} twice. Put all hunks of a file into one part.`);
    }
    namedPaths.add(path);
  }
  const inFile = paths.find((path) =>
    path
      .split('/')
      .some((_, index, names) => index > 0 && namedPaths.has(names.slice(0, index).join('/'))),
  );
  if (inFile !== undefined)
    throw refused(`${displayPath(inFile)} would lie in another file that it names.`);
}

/** Verifies one part of the patch and says what it does; changes nothing. */
async function planSection(context: ToolContext, section: PatchSection): Promise<PlannedSection> {
  const path = pathOfFile(context, section.path);
  switch (section.kind) {
    case 'add':
      return planAdd(context, path, section);
    case 'delete':
      return planRemoval(context, path, section.hunks);
    case 'update':
      return section.to === undefined
        ? planChange(context, path, section.hunks)
        : planMove(context, path, { to: pathOfFile(context, section.to), hunks: section.hunks });
  }
}

async function planAdd(
  context: ToolContext,
  path: string,
  { content, executable }: Extract<PatchSection, { kind: 'add' }>,
): Promise<PlannedSection> {
  const existingFile = await findEditable(context, path);
  if (existingFile) return planOverwrite(context, existingFile, Buffer.from(content));
  // Executable for those who may read it.
  const mode = executable ? newFileMode() | ((newFileMode() & 0o444) >> 2) : newFileMode();
  const file = await planCreate(context, path, { content: Buffer.from(content), mode });
  return { files: [file], description: `added ${displayPath(path)}` };
}

/** A file that was read is replaced, and keeps its permissions; PATCH_REFUSED for any other. */
function planOverwrite(context: ToolContext, file: EditableFile, content: Buffer): PlannedSection {
  const name = displayPath(file.path);
  if (context.seen.get(file.path) === undefined) {
    throw refused(
      `${name} exists already and was not read. Read it with read_file if you mean to replace it, update it, or give another path.`,
    );
  }
  requireSeen(context, file);
  if (content.equals(file.bytes)) {
    throw refused(`it leaves ${name} as it is. Leave that part out.`);
  }
  return { files: [planUpdate(file, content)], description: `replaced ${name}` };
}

async function planRemoval(
  context: ToolContext,
  path: string,
  hunks: readonly Hunk[],
): Promise<PlannedSection> {
  const file = await getEditable(context, path);
  if (hunks.length > 0) {
    // An error about a hunk that does not match quotes lines of the file, so it must have been read.
    requireSeen(context, file);
    const { text } = decodeText(file.bytes, displayPath(path));
    if (applyHunks(text, hunks, displayPath(path)).text !== '') {
      throw refused(`the hunks that delete ${displayPath(path)} do not hold all of its lines.`);
    }
  }
  return { files: [planDelete(context, file)], description: `deleted ${displayPath(path)}` };
}

async function planChange(
  context: ToolContext,
  path: string,
  hunks: readonly Hunk[],
): Promise<PlannedSection> {
  const file = await getEditable(context, path, MAX_TEXT_BYTES);
  requireSeen(context, file);
  const { content, description } = patched(file, hunks);
  if (content.equals(file.bytes)) {
    throw refused(`it leaves ${displayPath(path)} as it is. Leave that part out.`);
  }
  return {
    files: [planUpdate(file, content)],
    description: `changed ${displayPath(path)} ${description}`,
  };
}

async function planMove(
  context: ToolContext,
  path: string,
  { to, hunks }: { readonly to: string; readonly hunks: readonly Hunk[] },
): Promise<PlannedSection> {
  const file = await getEditable(context, path, hunks.length > 0 ? MAX_TEXT_BYTES : undefined);
  if (hunks.length > 0) requireSeen(context, file);
  await requireFree(context, to);
  const { content, description } =
    hunks.length > 0 ? patched(file, hunks) : { content: file.bytes, description: '' };
  const { mode } = file.state;
  return {
    // The new place first: at no moment is the content in none.
    files: [await planCreate(context, to, { content, mode }), planDelete(context, file)],
    description: `moved ${displayPath(path)} to ${displayPath(to)} ${description}`.trimEnd(),
  };
}

function patched(
  { path, bytes }: { readonly path: string; readonly bytes: Buffer },
  hunks: readonly Hunk[],
): { readonly content: Buffer; readonly description: string } {
  const before = decodeText(bytes, displayPath(path));
  const { text, fuzzyCount } = applyHunks(before.text, hunks, displayPath(path));
  const content = encodeText({ ...before, text });
  if (content.length > MAX_TEXT_BYTES) throw tooLarge(displayPath(path));
  const how =
    fuzzyCount > 0 ? `, ${fuzzyCount} of them found but for spaces, indentation or quotes` : '';
  return { content, description: `(${hunks.length} hunk(s)${how})` };
}

async function requireFree(context: ToolContext, path: string): Promise<void> {
  if (!(await findEditable(context, path))) return;
  throw refused(`${displayPath(path)} exists already. Update it, or give another path.`);
}

/** Lines that the hunks of one file may have to be compared with, all in all: well below a second. */
const MAX_COMPARED_LINES = 20_000_000;

interface Place {
  /** Index of the first line of the file that the hunk stands for. */
  readonly start: number;
  readonly length: number;
  readonly match: Match;
  readonly fit: BlockMatches['fit'];
}

/**
 * The text after the hunks, which must fit it in their order, without overlapping. The lines that a hunk keeps or removes
 * must be in the file exactly, at the line that the hunk names or in one place only; else they may differ as
 * BlockSearch.fuzzy allows, if that is one place only. Lines that are added with
 * none around them come at the end of the file, or right behind the anchors. Kept lines stay as they are in the file, new ones
 * end as their neighbours do. Fails with ToolError: PATCH_REFUSED, NO_MATCH, AMBIGUOUS_MATCH or TOO_LARGE.
 */
export function applyHunks(
  text: string,
  hunks: readonly Hunk[],
  name: string,
): { readonly text: string; readonly fuzzyCount: number } {
  const lines = new TextLines(text);
  const searches = hunks.length + hunks.flatMap(({ anchors }) => anchors).length;
  if (searches * lines.length > MAX_COMPARED_LINES) {
    throw new ToolError(
      'TOO_LARGE',
      `${name} is too large for a patch of ${hunks.length} hunks. Split the patch.`,
    );
  }
  const search = new HunkSearch(lines, name);
  const usualEnd = endNear(lines, lines.length - 1);
  const parts: string[] = [];
  // A last line without an end gets one when something follows it.
  const add = (part: string): void => {
    if (part === '') return;
    if (parts.at(-1)?.endsWith('\n') === false) parts.push(usualEnd);
    parts.push(part);
  };
  let [at, fuzzyCount] = [0, 0];
  for (const [index, hunk] of hunks.entries()) {
    const isLast = index === hunks.length - 1;
    const place = search.find(hunk, { from: at, number: index + 1, isLast });
    add(lines.part(at, place.start));
    for (const part of changed(lines, hunk, place)) add(part);
    at = place.start + place.length;
    if (place.match === 'fuzzy') fuzzyCount += 1;
  }
  add(lines.part(at));
  const wasOpen = text !== '' && !text.endsWith('\n');
  const whole = parts.join('');
  if (isOpenAfter(hunks) ?? wasOpen) return { text: whole.replace(/\r?\n$/, ''), fuzzyCount };
  return { text: whole === '' || whole.endsWith('\n') ? whole : whole + usualEnd, fuzzyCount };
}

/** Position of a hunk among the others of its file. */
interface HunkOrder {
  /** The first line of the file that is behind the hunk before. */
  readonly from: number;
  /** Number of the hunk, counted from 1. */
  readonly number: number;
  readonly isLast: boolean;
}

class HunkSearch {
  private readonly blocks: BlockSearch;
  /** The lines without white space at both ends, once they are needed. */
  private trimmed: readonly string[] | undefined;

  constructor(
    private readonly lines: TextLines,
    private readonly name: string,
  ) {
    this.blocks = new BlockSearch(lines);
  }

  find(hunk: Hunk, order: HunkOrder): Place {
    const block = hunk.lines.filter(({ kind }) => kind !== '+').map(({ text }) => text);
    if (block.length === 0) return this.insertion(hunk, order);
    const after = this.behind(hunk.anchors, order);
    const fits = (start: number): boolean =>
      start >= after && (!hunk.atEnd || start + block.length === this.lines.length);
    const exact = this.blocks.exact(block);
    const matches = exact.starts.some(fits) ? exact : this.blocks.fuzzy(block);
    const starts = matches?.starts.filter(fits) ?? [];
    if (!matches || starts.length === 0) throw this.noMatch(block, order.number);
    const { match, fit } = matches;
    const start = this.chosen(hunk, { starts, match }, order.number);
    return { start, length: block.length, match, fit };
  }

  /** Lines that are added with none around them: right behind the anchors or, without any, at the end of the file. */
  private insertion(hunk: Hunk, order: HunkOrder): Place {
    const { patchLine, anchors, oldStart, atEnd } = hunk;
    const { length } = this.lines;
    const isNamedEnd = oldStart === undefined || atEnd || oldStart >= length;
    if (!isNamedEnd) {
      throw refused(
        `the hunk in line ${patchLine} only adds lines, in the middle of the file. Give a line before or after them as context.`,
      );
    }
    const isAnchored = anchors.length > 0 && !atEnd;
    if (!isAnchored && !order.isLast) {
      throw refused(
        `the hunk in line ${patchLine} only adds lines, which come at the end of the file, and another hunk follows it. Put it last, or give a line before or after them as context.`,
      );
    }
    const behind = this.behind(anchors, order);
    return { start: isAnchored ? behind : length, length: 0, match: 'exact', fit: (line) => line };
  }

  private chosen(
    hunk: Hunk,
    { starts, match }: Pick<BlockMatches, 'starts' | 'match'>,
    number: number,
  ): number {
    const [first = 0, ...more] = starts;
    if (more.length === 0) return first;
    const named = (hunk.oldStart ?? 0) - 1;
    if (match === 'exact' && starts.includes(named)) return named;
    if (match === 'exact' && hunk.anchors.length > 0) return first;
    const lines = starts.map((start) => start + 1);
    const what = `The old text of hunk ${number}`;
    throw ambiguous({ name: this.name, what, count: starts.length, lines });
  }

  /** The first line behind the anchors; each must be there, and the first of them only once. */
  private behind(anchors: readonly string[], { from, number }: HunkOrder): number {
    let after = from;
    for (const [index, anchor] of anchors.entries()) {
      const lines = (this.trimmed ??= Array.from(this.lines, (line) => line.trim()));
      const positions: number[] = [];
      for (let at = after; at < lines.length; at += 1) {
        if (lines[at] === anchor) positions.push(at);
      }
      const [first] = positions;
      const what = `The line after @@ of hunk ${number}`;
      if (first === undefined) {
        throw new ToolError('NO_MATCH', `${what} was not found in ${this.name}: ${anchor}`);
      }
      if (index === 0 && positions.length > 1) {
        const numbers = positions.map((at) => at + 1);
        throw ambiguous({ name: this.name, what, count: positions.length, lines: numbers });
      }
      after = first + 1;
    }
    return after;
  }

  private noMatch(block: readonly string[], number: number): ToolError {
    const closest = closestLines(this.lines, block);
    const hint = closest
      ? `${closest}\nGive the lines exactly as they are, and the hunks of a file in their order.`
      : 'No line of it is in the file. Read the file again.';
    return new ToolError(
      'NO_MATCH',
      `Hunk ${number} does not fit ${this.name}, and nothing was changed. ${hint}`,
    );
  }
}

/** The hunk's part of the file afterwards, line by line with what ends them. */
function changed(lines: TextLines, hunk: Hunk, { start, fit }: Place): string[] {
  const result: string[] = [];
  let at = start;
  for (const { kind, text } of hunk.lines) {
    if (kind === '+') {
      const fitted = fit(text, start);
      if (fitted === undefined) {
        throw refused(
          `the hunk in line ${hunk.patchLine} is indented otherwise than the file, and its new lines cannot be fitted. Indent it as the file is.`,
        );
      }
      result.push(fitted + endNear(lines, at));
      continue;
    }
    if (kind === ' ') result.push(lines.part(at, at + 1));
    at += 1;
  }
  return result;
}

/** Line end of the line before the place, or else of the line at it. */
function endNear(lines: TextLines, at: number): LineEnd {
  return lines.end(at - 1) || lines.end(at) || lines.end(0) || '\n';
}

/** Whether the last line of the file is to have no end; undefined where the patch does not say. */
function isOpenAfter(hunks: readonly Hunk[]): boolean | undefined {
  const marked = hunks.flatMap(({ lines }) => lines).filter(({ endsFile }) => endsFile);
  return marked.length > 0 ? marked.some(({ kind }) => kind !== '-') : undefined;
}
