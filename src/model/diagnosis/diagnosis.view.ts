import {
  View,
  flag,
  integer,
  list,
  oneOf,
  optional,
  text,
  texts,
} from '../../platform/http/index.js';

export const DIAGNOSIS_STEPS = [
  'address',
  'proxy',
  'dns',
  'connect',
  'tls',
  'http',
  'answer',
] as const;
export type DiagnosisStep = (typeof DIAGNOSIS_STEPS)[number];

/** The faults of a connection: the first thing to look at. */
export const FAULTS = [
  'address',
  'proxy',
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

export class DiagnosisStepView extends View({
  step: oneOf<DiagnosisStep>(DIAGNOSIS_STEPS),
  ok: flag(),
  ms: integer({ description: 'Milliseconds it took' }),
  detail: text({ example: 'Connected.' }),
}) {}

/** The result of a test of a model's connection. Absent fields were not reached. */
export class DiagnosisView extends View({
  ok: flag(),
  normalizedAddress: text({
    description: 'The base address as it is used',
    example: 'https://api.example.com/v1',
  }),
  url: text({ example: 'https://api.example.com/v1/chat/completions' }),
  steps: list(DiagnosisStepView),
  status: optional(integer({ description: 'HTTP status of the provider' })),
  fault: optional(oneOf<Fault>(FAULTS)),
  advice: text({ description: 'What to do next' }),
  firstTokenMs: optional(integer({ description: 'Milliseconds to the first word' })),
  dimension: optional(integer({ description: 'Dimensions a vector really has' })),
  findings: optional(
    texts({
      description: 'What calls have learned of the service, such as parameters that it refuses',
      example: ['stream_options is left out: the service refuses it.'],
    }),
  ),
  answerPreview: optional(text({ description: 'Beginning of the answer, at most 200 characters' })),
}) {}
