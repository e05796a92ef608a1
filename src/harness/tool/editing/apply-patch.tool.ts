import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { FilePlan, FileTool, ToolContext } from '../tool.js';
import { ToolError } from '../../fault/tool.error.js';
import { isEnvelope, parseEnvelope, parseUnified, refused } from './patch.js';
import { givenText, titled } from './editable-file.js';
import type { PatchSection } from './patch.js';
import { checkPlaces, planSection } from './patch-plan.js';
import type { PlannedSection } from './patch-plan.js';

const LARGEST_BYTES = 256 * 1024;
const MOST_FILES = 50;
/** Contents of all files together, before and after: they are held until they are kept. */
const MOST_BYTES = 64 * 1024 * 1024;

const input = z.strictObject({
  patch: givenText(LARGEST_BYTES).min(1).describe('The whole patch, at most 256 KiB'),
});

type PatchInput = z.output<typeof input>;

/** Changes several files by one patch, all or none. */
@Injectable()
export class ApplyPatchTool implements FileTool<PatchInput> {
  readonly name = 'apply_patch';
  readonly effectClass = 'FILE';
  readonly input = input;
  readonly description = `Adds, changes, deletes and moves up to 50 files by one patch of at most 256 KiB; when one part cannot be done, nothing is. Every file that is changed must have been read with read_file in this run and be unchanged since. Two forms are understood.
1. "*** Begin Patch", then parts, then "*** End Patch". Parts: "*** Add File: path" followed by the lines of the file, each after a +; "*** Delete File: path"; "*** Update File: path", at most one "*** Move to: path" right after it, and hunks. A hunk begins with "@@", or with "@@ " and a line of the file behind which it is to be looked for; its lines begin with a space (kept), - (removed) or + (added). "*** End of File" after a hunk says that it ends with the file.
2. A unified diff: "--- a/path", "+++ b/path" (/dev/null for a file that is added or deleted; "rename from" and "rename to" for a move), and hunks with "@@ -12,7 +12,8 @@" whose numbers of lines are right.
Kept and removed lines must be in the file exactly, in one place or at the line that the hunk names; they may differ in spaces at the ends of lines or by one indentation if that fits one place only.`;

  title({ patch }: PatchInput): string {
    try {
      const paths = sectionsOf(patch).map(({ path }) => path);
      const more = paths.length > 3 ? ` and ${paths.length - 3} more` : '';
      return titled('patch', `${paths.slice(0, 3).join(', ')}${more}`);
    } catch {
      return 'apply a patch';
    }
  }

  async plan({ patch }: PatchInput, context: ToolContext): Promise<FilePlan> {
    if (Buffer.byteLength(patch) > LARGEST_BYTES) {
      throw new ToolError('TOO_LARGE', 'The patch has more than 256 KiB. Split it.');
    }
    const sections = sectionsOf(patch);
    if (sections.length === 0) throw refused('it names no file.');
    if (sections.length > MOST_FILES) {
      throw refused(
        `it names ${sections.length} files; at most ${MOST_FILES} can be changed at once.`,
      );
    }
    checkPlaces(context, sections);
    const planned: PlannedSection[] = [];
    const contents = new Set<Buffer>();
    for (const section of sections) {
      const done = await planSection(context, section);
      planned.push(done);
      for (const content of contentsOf(done)) contents.add(content);
      if (lengthOf(contents) > MOST_BYTES) throw tooMuch();
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

function sectionsOf(patch: string): PatchSection[] {
  return isEnvelope(patch) ? parseEnvelope(patch) : parseUnified(patch);
}
