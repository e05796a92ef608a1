import { z } from 'zod';
import type { HarnessEffect } from '../../store/harness.entity.js';
import type { FileOperation } from '../../workspace/file-operation.js';
import { CONFLICTS } from './undo.selection.js';
import type { UndoDirection } from '../../store/undo.repository.js';

const undoInput = z
  .object({
    changeIds: z.array(z.number()),
    /** All files whose changes are undone, also those that were as they are to be. */
    files: z.array(z.string()),
    conflicts: z.array(z.object({ path: z.string(), reason: z.enum(CONFLICTS) })),
  })
  .readonly();

/** What is undone or redone, as it is written down as the input of its effect. */
export type UndoInput = z.output<typeof undoInput>;

/** An undo or redo that is written down as a started effect. */
export interface BegunUndo {
  readonly tenantId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly direction: UndoDirection;
  readonly input: UndoInput;
  readonly operations: readonly FileOperation[];
}

/** The undo that an effect is; undefined for a tool call, which is a turn's of the model. */
export function undoOf(effect: HarnessEffect): BegunUndo | undefined {
  const { tenantId, runId, toolCallId, toolName, operations, iteration } = effect;
  if (iteration >= 0) return undefined;
  return {
    ...{ tenantId, runId, toolCallId, operations },
    direction: toolName === 'redo' ? 'redo' : 'undo',
    input: undoInput.parse(effect.input),
  };
}
