import { ApiProperty } from '@nestjs/swagger';
import type { HarnessArtifact } from '../../store/artifact.entity.js';
import { CONFLICTS } from '../../engine/undo/undo.selection.js';
import type { ConflictReason } from '../../engine/undo/undo.selection.js';

const OPS = ['CREATE', 'UPDATE', 'DELETE'];
const LINES = {
  type: 'integer',
  nullable: true,
  description: 'Lines; null for what is no text',
} as const;

/** What a run has changed in one file, from before its first change to after its last. */
export class FileDiffView {
  @ApiProperty({ example: 'src/add.js' })
  path: string;

  @ApiProperty({ enum: OPS })
  op: string;

  @ApiProperty(LINES)
  additions: number | null;

  @ApiProperty(LINES)
  deletions: number | null;

  @ApiProperty({ description: 'Unified, at most 64 KiB' })
  diff: string;

  @ApiProperty({ description: 'The diff is cut, or left out because there is too much' })
  truncated: boolean;
}

/** What a run has changed, without what was undone. */
export class RunDiffView {
  @ApiProperty({ required: false, description: 'All diffs as one text; with format=unified' })
  text?: string;

  @ApiProperty({ required: false, type: [FileDiffView], description: 'With format=json' })
  files?: readonly FileDiffView[];

  @ApiProperty({ type: 'integer', description: 'Lines' })
  additions: number;

  @ApiProperty({ type: 'integer', description: 'Lines' })
  deletions: number;

  @ApiProperty({ description: 'Another one whenever the difference is' })
  etag: string;

  @ApiProperty({ description: 'A diff is cut or left out; ask for the path alone' })
  truncated: boolean;
}

/** A file that a run has changed. */
export class ChangedFileView {
  @ApiProperty({ example: 'src/add.js' })
  path: string;

  @ApiProperty({ enum: OPS })
  op: string;

  @ApiProperty(LINES)
  additions: number | null;

  @ApiProperty(LINES)
  deletions: number | null;

  @ApiProperty({ type: [Number], description: 'Its changes that are not undone, oldest first' })
  changeIds: readonly number[];

  @ApiProperty({ type: [Number], description: 'Its changes that are undone, oldest first' })
  undoneChangeIds: readonly number[];

  @ApiProperty({ description: 'All its changes that are not undone could be undone now' })
  undoable: boolean;

  @ApiProperty({
    enum: [...CONFLICTS, 'UNDONE', 'RUN_ACTIVE', 'WORKSPACE_GONE'],
    type: String,
    nullable: true,
    description: 'Why it cannot be undone',
  })
  reason: ConflictReason | 'UNDONE' | 'RUN_ACTIVE' | 'WORKSPACE_GONE' | null;

  @ApiProperty({ type: String, nullable: true, description: 'The reason, for people' })
  message: string | null;
}

/** Something whole of which the model saw a part. */
export class ArtifactView {
  @ApiProperty({ format: 'uuid' })
  artifactId: string;

  @ApiProperty({ type: String, format: 'uuid', nullable: true })
  toolCallId: string | null;

  @ApiProperty({ example: 'output' })
  kind: string;

  @ApiProperty({ example: 'text/plain' })
  mediaType: string;

  @ApiProperty({ type: 'integer' })
  byteSize: number;

  @ApiProperty()
  sha256: string;

  @ApiProperty({ type: 'integer', example: 1_769_884_200_000, description: 'Milliseconds' })
  createdAt: number;
}

export function toArtifactView(artifact: HarnessArtifact): ArtifactView {
  const { id: artifactId, toolCallId, kind, mediaType, byteSize, sha256, createTime } = artifact;
  const createdAt = createTime.getTime();
  return { artifactId, toolCallId, kind, mediaType, byteSize, sha256, createdAt };
}
