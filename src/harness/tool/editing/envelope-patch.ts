import { addedContent, hunkLine, PatchLines, refused } from './patch.js';
import type { Hunk, HunkLine, PatchSection } from './patch.js';

const BEGIN = '*** Begin Patch';
const END = '*** End Patch';
const END_OF_FILE = '*** End of File';

export function isEnvelope(patch: string): boolean {
  return patch.trimStart().startsWith(BEGIN);
}

/**
 * Reads a patch of this form; PATCH_REFUSED names the line that breaks it.
 *
 *     *** Begin Patch
 *     *** Add File: path            each line of the content after a +
 *     *** Delete File: path
 *     *** Update File: path         then hunks
 *     *** Move to: path             at most once, right after an Update File
 *     @@ a line of the file         begins a hunk; the hunk is looked for behind that line. A bare @@ has no such line,
 *                                   several @@ lines are looked for one after the other
 *     *** End of File               after a hunk: it ends with the file
 *     *** End Patch
 */
export function parseEnvelope(patch: string): PatchSection[] {
  const lines = new PatchLines(patch);
  lines.skipBlank();
  if (lines.next()?.trim() !== BEGIN) throw refused(`its first line must be "${BEGIN}".`);
  const sections: PatchSection[] = [];
  for (;;) {
    lines.skipBlank();
    const { number } = lines;
    const line = lines.next();
    if (line?.trim() === END) break;
    if (line === undefined) throw refused(`its last line must be "${END}".`);
    sections.push(sectionOf(line, number, lines));
  }
  lines.skipBlank();
  if (lines.peek() !== undefined) throw refused(`line ${lines.number} follows "${END}".`);
  return sections;
}

function sectionOf(header: string, number: number, lines: PatchLines): PatchSection {
  const [, kind, path = ''] = /^\*\*\* (Add|Delete|Update) File: (.+)$/.exec(header) ?? [];
  switch (kind) {
    case 'Add':
      return { kind: 'add', path: path.trim(), content: addedIn(lines), executable: false };
    case 'Delete':
      return { kind: 'delete', path: path.trim(), hunks: [] };
    case 'Update':
      return updateIn(path.trim(), lines);
    default:
      throw refused(
        `line ${number} must be "*** Add File: path", "*** Delete File: path", "*** Update File: path" or "${END}".`,
      );
  }
}

function addedIn(lines: PatchLines): string {
  const added: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || line.startsWith('***') || isGap(lines)) return addedContent(added);
    if (!line.startsWith('+')) {
      throw refused(`line ${lines.number}: every line of an added file begins with +.`);
    }
    added.push({ kind: '+', text: line.slice(1), endsFile: false });
    lines.next();
  }
}

function updateIn(path: string, lines: PatchLines): PatchSection {
  const to = /^\*\*\* Move to: (.+)$/.exec(lines.peek() ?? '')?.[1]?.trim();
  if (to !== undefined) lines.next();
  const hunks: Hunk[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || isGap(lines)) break;
    if (line.startsWith('***') && line.trim() !== END_OF_FILE) break;
    hunks.push(hunkIn(lines));
  }
  if (hunks.length === 0 && to === undefined) {
    throw refused(`"*** Update File: ${path}" has no hunk. Begin one with @@.`);
  }
  return { kind: 'update', path, hunks, ...(to !== undefined && { to }) };
}

function hunkIn(lines: PatchLines): Hunk {
  const patchLine = lines.number;
  const anchors: string[] = [];
  while (lines.peek()?.startsWith('@@')) {
    const anchor = lines.next()?.slice(2).trim();
    if (anchor) anchors.push(anchor);
  }
  const body: HunkLine[] = [];
  for (;;) {
    const line = lines.peek();
    if (line === undefined || line.startsWith('@@') || line.startsWith('***') || isGap(lines))
      break;
    const read = hunkLine(line);
    if (!read) {
      throw refused(`line ${lines.number} of a hunk must begin with a space, - or +.`);
    }
    body.push(read);
    lines.next();
  }
  const atEnd = lines.peek()?.trim() === END_OF_FILE;
  if (atEnd) lines.next();
  if (!body.some(({ kind }) => kind !== ' ')) {
    throw refused(`the hunk in line ${patchLine} changes nothing.`);
  }
  return { patchLine, lines: body, anchors, atEnd };
}

/** True at empty lines after which another part begins or the patch ends: they belong to no hunk. */
function isGap(lines: PatchLines): boolean {
  let ahead = 0;
  while (lines.peek(ahead) === '') ahead += 1;
  if (ahead === 0) return false;
  const next = lines.peek(ahead);
  return next === undefined || next.startsWith('*** ') || next.startsWith('@@');
}
