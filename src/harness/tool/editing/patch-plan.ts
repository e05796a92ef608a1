import type { PlannedFile } from '../../workspace/file-operation.js';
import { newFileMode } from '../../workspace/file-mode.js';
import { shown } from '../../workspace/workspace-path.js';
import type { ToolContext } from '../tool.js';
import { ToolError } from '../../fault/tool.error.js';
import {
  findEditable,
  getEditable,
  pathOfFile,
  planCreate,
  planDelete,
  planUpdate,
  requireSeen,
} from './editable-file.js';
import { applyHunks } from './hunk-apply.js';
import { refused } from './patch.js';
import type { Hunk, PatchSection } from './patch.js';
import { decodeText, encodeText } from './text-content.js';
import { LARGEST_TEXT, tooLarge } from './text-edit.js';

export interface PlannedSection {
  readonly files: readonly PlannedFile[];
  /** One line for the model. */
  readonly told: string;
}

/** PATCH_REFUSED when the patch names a file twice, or a new file where another one needs a folder. */
export function checkPlaces(context: ToolContext, sections: readonly PatchSection[]): void {
  const paths = sections.flatMap((section) => {
    const to = section.kind === 'update' ? section.to : undefined;
    return [section.path, ...(to === undefined ? [] : [to])].map((path) =>
      pathOfFile(context, path),
    );
  });
  const seen = new Set<string>();
  for (const path of paths) {
    if (seen.has(path)) {
      throw refused(`it names ${shown(path)} twice. Put all hunks of a file into one part.`);
    }
    seen.add(path);
  }
  const inFile = paths.find((path) =>
    path
      .split('/')
      .some((_, index, names) => index > 0 && seen.has(names.slice(0, index).join('/'))),
  );
  if (inFile !== undefined)
    throw refused(`${shown(inFile)} would lie in another file that it names.`);
}

/** Verifies one part of the patch and says what it does; changes nothing. */
export async function planSection(
  context: ToolContext,
  section: PatchSection,
): Promise<PlannedSection> {
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
  await requireFree(context, path);
  // Whoever may read a new file may run it.
  const mode = executable ? newFileMode() | ((newFileMode() & 0o444) >> 2) : newFileMode();
  const file = await planCreate(context, path, { content: Buffer.from(content), mode });
  return { files: [file], told: `added ${shown(path)}` };
}

async function planRemoval(
  context: ToolContext,
  path: string,
  hunks: readonly Hunk[],
): Promise<PlannedSection> {
  const file = await getEditable(context, path);
  if (hunks.length > 0) {
    const { text } = decodeText(file.bytes, shown(path));
    if (applyHunks(text, hunks, shown(path)).text !== '') {
      throw refused(`the hunks that delete ${shown(path)} do not hold all of its lines.`);
    }
  }
  return { files: [planDelete(context, file)], told: `deleted ${shown(path)}` };
}

async function planChange(
  context: ToolContext,
  path: string,
  hunks: readonly Hunk[],
): Promise<PlannedSection> {
  const file = await getEditable(context, path, LARGEST_TEXT);
  requireSeen(context, file);
  const { content, told } = patched(file, hunks);
  if (content.equals(file.bytes)) {
    throw refused(`it leaves ${shown(path)} as it is. Leave that part out.`);
  }
  return { files: [planUpdate(file, content)], told: `changed ${shown(path)} ${told}` };
}

async function planMove(
  context: ToolContext,
  path: string,
  { to, hunks }: { readonly to: string; readonly hunks: readonly Hunk[] },
): Promise<PlannedSection> {
  const file = await getEditable(context, path, hunks.length > 0 ? LARGEST_TEXT : undefined);
  if (hunks.length > 0) requireSeen(context, file);
  await requireFree(context, to);
  const { content, told } =
    hunks.length > 0 ? patched(file, hunks) : { content: file.bytes, told: '' };
  const { mode } = file.state;
  return {
    // The new place first: at no moment is the content in none.
    files: [await planCreate(context, to, { content, mode }), planDelete(context, file)],
    told: `moved ${shown(path)} to ${shown(to)} ${told}`.trimEnd(),
  };
}

function patched(
  { path, bytes }: { readonly path: string; readonly bytes: Buffer },
  hunks: readonly Hunk[],
): { readonly content: Buffer; readonly told: string } {
  const before = decodeText(bytes, shown(path));
  const { text, loosely } = applyHunks(before.text, hunks, shown(path));
  const content = encodeText({ ...before, text });
  if (content.length > LARGEST_TEXT) throw tooLarge(shown(path));
  const how = loosely > 0 ? `, ${loosely} of them found but for spaces or indentation` : '';
  return { content, told: `(${hunks.length} hunk(s)${how})` };
}

async function requireFree(context: ToolContext, path: string): Promise<void> {
  if (!(await findEditable(context, path))) return;
  throw new ToolError(
    'PATCH_REFUSED',
    `The patch was refused and nothing was changed: ${shown(path)} exists already. Update it, or give another path.`,
  );
}
