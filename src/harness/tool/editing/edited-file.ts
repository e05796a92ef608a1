import { setImmediate } from 'node:timers/promises';
import { shown } from '../../workspace/workspace-path.js';
import { ToolError } from '../../fault/tool.error.js';
import { numbered } from './closest-region.js';
import type { EditableFile } from './editable-file.js';
import { decodeText, encodeText, linesOf } from './text-content.js';
import { editText, LARGEST_TEXT, tooLarge } from './text-edit.js';
import type { EditedText, TextEdit } from './text-edit.js';

const SHOWN_LINES = 12;

/** The content after the edits, done in their order. ToolError, which names the edit if there are several. */
export async function editedContent(
  file: EditableFile,
  edits: readonly TextEdit[],
): Promise<{ readonly content: Buffer; readonly edited: readonly EditedText[] }> {
  const name = shown(file.path);
  const before = decodeText(file.bytes, name);
  const edited: EditedText[] = [];
  let { text } = before;
  for (const [index, edit] of edits.entries()) {
    // Other requests come in between.
    if (index > 0) await setImmediate();
    const done = inEdit(() => editText(text, edit, name), index, edits.length);
    edited.push(done);
    text = done.text;
  }
  const content = encodeText({ ...before, text });
  if (content.length > LARGEST_TEXT) throw tooLarge(name);
  if (!content.equals(file.bytes)) return { content, edited };
  throw new ToolError(
    'INVALID_ARGUMENTS',
    `The edits together leave ${name} as it is: nothing to do.`,
  );
}

/** What the model reads: where the edits were done and, after a single one, the lines as they are now. */
export function outcomeOf(edited: readonly EditedText[]): string {
  const told = edited.map(({ count, line, by }, index) => {
    const which = edited.length > 1 ? `edit ${index + 1}: ` : '';
    const places = count === 1 ? `line ${line}` : `${count} places, the first in line ${line}`;
    return `${which}${places}${LOOSELY[by]}`;
  });
  const [only, ...more] = edited;
  if (!only || more.length > 0) return `${told.join('; ')}.`;
  const lines = linesOf(only.text).map(({ text }) => text);
  const from = Math.max(0, only.line - 3);
  return `${told.join('; ')}. It now reads:\n${numbered(lines, from, from + SHOWN_LINES)}`;
}

const LOOSELY: Readonly<Record<EditedText['by'], string>> = {
  exact: '',
  'line-ends': '',
  'trailing-spaces': ' (found but for spaces at the ends of lines)',
  indentation: ' (found with another indentation, to which the new text was fitted)',
};

function inEdit<T>(work: () => T, index: number, count: number): T {
  try {
    return work();
  } catch (error) {
    if (count === 1 || !(error instanceof ToolError)) throw error;
    throw new ToolError(
      error.code,
      `Edit ${index + 1} of ${count} cannot be done, so none was. ${error.message}`,
    );
  }
}
