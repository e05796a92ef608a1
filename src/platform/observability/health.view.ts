import { ApiProperty } from '@nestjs/swagger';

export type CheckStatus = 'up' | 'down';

export class LiveView {
  @ApiProperty({ example: 'up' })
  status: 'up';
}

export class CheckView {
  @ApiProperty({ enum: ['up', 'down'] })
  status: CheckStatus;

  @ApiProperty({ description: 'What does the work in this installation', example: 'embedded' })
  kind: string;

  @ApiProperty({ required: false, description: 'Absent when nothing had to be asked' })
  latencyMs?: number;
}

export class ChecksView {
  @ApiProperty({ description: 'kind: embedded or postgresql' })
  store: CheckView;

  @ApiProperty({ description: 'kind: in process or redis' })
  queue: CheckView;

  @ApiProperty({ description: 'kind: pgvector, qdrant or exact' })
  vectorStore: CheckView;
}

export class ReadyView {
  @ApiProperty({ enum: ['up', 'down', 'stopping'] })
  status: CheckStatus | 'stopping';

  @ApiProperty()
  checks: ChecksView;
}
