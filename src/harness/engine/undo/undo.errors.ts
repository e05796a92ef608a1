import { ConflictError } from '../../../platform/error/index.js';
import type { UndoConflict } from './undo.selection.js';
import type { UndoDirection } from '../../store/undo.repository.js';

/** Nothing was changed; `conflicts` says file by file what is in the way. */
export class UndoConflictError extends ConflictError {
  constructor(message: string, conflicts: readonly UndoConflict[] = []) {
    super(message, { data: { errorCode: 'UNDO_CONFLICT', conflicts } });
  }

  static of(direction: UndoDirection, conflicts: readonly UndoConflict[]): UndoConflictError {
    return new UndoConflictError(
      `${conflicts.length} file(s) are in the way of the ${direction}, and nothing was changed. Put them in order, or send force to leave them out.`,
      conflicts,
    );
  }
}
