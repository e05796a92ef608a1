import { ApiProperty } from '@nestjs/swagger';
import type { FileOperation } from '../../workspace/file-operation.js';
import type { HarnessEffect } from '../../store/effect.entity.js';
import { RESOLUTIONS } from '../../protocol/effect.state.js';

const STATES = [
  'PREPARED',
  'STARTED',
  'UNCERTAIN',
  'SUCCEEDED',
  'FAILED',
  'TIMED_OUT',
  'CANCELLED',
  'NOT_EXECUTED',
  'DENIED',
  'INVALID',
];
const MILLISECONDS = { type: 'integer', example: 1_769_884_200_000 } as const;

export class EffectOperationView {
  @ApiProperty({ example: 'src/add.js' })
  path: string;

  @ApiProperty({ enum: ['CREATE', 'UPDATE', 'DELETE'] })
  op: string;

  @ApiProperty({ type: String, nullable: true, description: 'SHA-256; null: there was no file' })
  beforeSha256: string | null;

  @ApiProperty({ type: String, nullable: true, description: 'SHA-256; null: there is no file' })
  afterSha256: string | null;
}

/** One tool call of a run and what came of it; times are milliseconds since the epoch. */
export class EffectView {
  @ApiProperty({ format: 'uuid' })
  toolCallId: string;

  @ApiProperty({ format: 'uuid' })
  runId: string;

  @ApiProperty({ example: 'shell' })
  toolName: string;

  @ApiProperty({ enum: ['READ', 'META', 'FILE', 'SHELL'] })
  effectClass: string;

  @ApiProperty({ enum: STATES })
  state: string;

  @ApiProperty({ type: 'integer', description: 'The turn of the model that asked for it' })
  iteration: number;

  @ApiProperty({ description: 'The arguments, as the model wrote them' })
  argumentsJson: string;

  @ApiProperty({ description: 'SHA-256 of the bytes of argumentsJson' })
  argumentsSha256: string;

  @ApiProperty({ type: String, nullable: true, description: 'Why it came to nothing' })
  code: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Of a command' })
  exitCode: number | null;

  @ApiProperty({
    type: String,
    format: 'uuid',
    nullable: true,
    description: 'Its whole output; of an UNCERTAIN command what was kept of it',
  })
  artifactId: string | null;

  @ApiProperty({
    type: [EffectOperationView],
    description:
      'The files that it changes; of an UNCERTAIN command those that have changed since it began, as far as that can be told',
  })
  operations: readonly EffectOperationView[];

  @ApiProperty({ description: 'Its outcome was found out after a restart' })
  reconciled: boolean;

  @ApiProperty({ enum: RESOLUTIONS, type: String, nullable: true })
  resolution: string | null;

  @ApiProperty({ type: 'integer', nullable: true, description: 'Id of the user who resolved it' })
  resolvedBy: number | null;

  @ApiProperty({ type: String, nullable: true })
  note: string | null;

  @ApiProperty(MILLISECONDS)
  createdAt: number;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  startedAt: number | null;

  @ApiProperty({ ...MILLISECONDS, nullable: true })
  endedAt: number | null;
}

export function toEffectView(effect: HarnessEffect): EffectView {
  return {
    toolCallId: effect.toolCallId,
    runId: effect.runId,
    toolName: effect.toolName,
    effectClass: effect.effectClass,
    state: effect.state,
    iteration: effect.iteration,
    argumentsJson: effect.argumentsJson,
    argumentsSha256: effect.argumentsSha256,
    code: effect.errorCode,
    exitCode: effect.exitCode,
    artifactId: effect.artifactId,
    operations: effect.operations.map(toOperationView),
    reconciled: effect.reconciled,
    resolution: effect.resolution,
    resolvedBy: effect.resolvedBy,
    note: effect.note,
    createdAt: effect.createTime.getTime(),
    startedAt: effect.startedAt?.getTime() ?? null,
    endedAt: effect.endedAt?.getTime() ?? null,
  };
}

function toOperationView({ path, op, before, after }: FileOperation): EffectOperationView {
  return {
    path,
    op,
    beforeSha256: before?.sha256 ?? null,
    afterSha256: after?.sha256 ?? null,
  };
}
