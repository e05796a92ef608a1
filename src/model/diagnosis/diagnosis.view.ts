import { ApiProperty } from '@nestjs/swagger';

export const DIAGNOSIS_STEPS = ['address', 'dns', 'connect', 'tls', 'http', 'answer'] as const;
export type DiagnosisStep = (typeof DIAGNOSIS_STEPS)[number];

/** What is wrong: the first thing to look at. */
export const FAULTS = [
  'address',
  'dns',
  'connection',
  'tls',
  'key',
  'path',
  'model',
  'dimension',
  'rate-limit',
  'timeout',
  'unsupported',
  'provider',
] as const;
export type Fault = (typeof FAULTS)[number];

export class DiagnosisStepView {
  @ApiProperty({ enum: DIAGNOSIS_STEPS })
  step: DiagnosisStep;

  @ApiProperty()
  ok: boolean;

  @ApiProperty({ type: 'integer', description: 'Milliseconds it took' })
  ms: number;

  @ApiProperty({ example: 'Connected.' })
  detail: string;
}

/** What a test of a model's connection found. Absent fields were not reached. */
export class DiagnosisView {
  @ApiProperty()
  ok: boolean;

  @ApiProperty({
    description: 'The base address as it is used',
    example: 'https://api.example.com/v1',
  })
  normalizedAddress: string;

  @ApiProperty({ example: 'https://api.example.com/v1/chat/completions' })
  url: string;

  @ApiProperty({ type: [DiagnosisStepView] })
  steps: DiagnosisStepView[];

  @ApiProperty({ type: 'integer', required: false, description: 'HTTP status of the provider' })
  status?: number;

  @ApiProperty({ enum: FAULTS, required: false })
  fault?: Fault;

  @ApiProperty({ description: 'What to do next' })
  advice: string;

  @ApiProperty({ type: 'integer', required: false, description: 'Milliseconds to the first word' })
  firstTokenMs?: number;

  @ApiProperty({ type: 'integer', required: false, description: 'Dimensions a vector really has' })
  dimension?: number;

  @ApiProperty({ required: false, description: 'Beginning of the answer, at most 200 characters' })
  answerPreview?: string;
}
