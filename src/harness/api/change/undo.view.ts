import { list, numbers, oneOf, text, texts, View } from '../../../platform/http/index.js';
import { CONFLICTS } from '../../engine/undo/undo.selection.js';
import type { ConflictReason } from '../../engine/undo/undo.selection.js';

export class UndoConflictView extends View({
  path: text({ example: 'src/add.js' }),
  changeIds: numbers(),
  reason: oneOf<ConflictReason>(CONFLICTS),
  message: text({ example: 'The file was changed since. Its present content would be lost.' }),
}) {}

/** What was undone or redone. */
export class UndoResultView extends View({
  changeIds: numbers({ description: 'The changes that are undone now, or done again' }),
  files: texts({ description: 'The files that they changed' }),
  conflicts: list(UndoConflictView, { description: 'What was left out, with force' }),
}) {}
