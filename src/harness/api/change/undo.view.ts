import { ApiProperty } from '@nestjs/swagger';
import { CONFLICTS } from '../../engine/undo/undo.selection.js';
import type { ConflictReason } from '../../engine/undo/undo.selection.js';

export class UndoConflictView {
  @ApiProperty({ example: 'src/add.js' })
  path: string;

  @ApiProperty({ type: [Number] })
  changeIds: readonly number[];

  @ApiProperty({ enum: CONFLICTS })
  reason: ConflictReason;

  @ApiProperty({ example: 'The file was changed since. Its present content would be lost.' })
  message: string;
}

/** What was undone or redone. */
export class UndoResultView {
  @ApiProperty({ type: [Number], description: 'The changes that are undone now, or done again' })
  changeIds: readonly number[];

  @ApiProperty({ type: [String], description: 'The files that they changed' })
  files: readonly string[];

  @ApiProperty({ type: [UndoConflictView], description: 'What was left out, with force' })
  conflicts: readonly UndoConflictView[];
}
