import {
  flag,
  integer,
  list,
  nullable,
  oneOf,
  text,
  timestamp,
  uuid,
  View,
} from '../../../platform/http/index.js';
import { OPEN_EFFECTS, RESOLUTIONS, SETTLED_EFFECTS } from '../../../effect/index.js';
import type { ShownEffect } from '../../../effect/index.js';

export const EFFECT_STATES = [...OPEN_EFFECTS, ...SETTLED_EFFECTS];

export class EffectOperationView extends View({
  path: text({ example: 'src/add.js' }),
  op: oneOf(['CREATE', 'UPDATE', 'DELETE']),
  beforeSha256: nullable(text({ description: 'SHA-256; null: there was no file' })),
  afterSha256: nullable(text({ description: 'SHA-256; null: there is no file' })),
}) {}

/** One tool call of a run and its outcome; times are milliseconds since the epoch. */
export class EffectView extends View({
  toolCallId: uuid(),
  runId: uuid(),
  toolName: text({ example: 'shell' }),
  effectClass: oneOf(['READ', 'META', 'FILE', 'SHELL']),
  state: oneOf(EFFECT_STATES),
  iteration: integer({ description: 'The turn of the model that asked for it' }),
  argumentsJson: text({ description: 'The arguments, as the model wrote them' }),
  argumentsSha256: text({ description: 'SHA-256 of the bytes of argumentsJson' }),
  code: nullable(text({ description: 'Why it came to nothing' })),
  exitCode: nullable(integer({ description: 'Of a command' })),
  artifactId: nullable(
    uuid({ description: 'Its whole output; of an UNCERTAIN command what was kept of it' }),
  ),
  operations: list(EffectOperationView, {
    description:
      'The files that it changes; of an UNCERTAIN command those that have changed since it began, as far as that can be told',
  }),
  reconciled: flag({ description: 'Its outcome was found out after a restart' }),
  resolution: nullable(oneOf(RESOLUTIONS)),
  resolvedBy: nullable(integer({ description: 'Id of the user who resolved it' })),
  note: nullable(text()),
  createdAt: timestamp(),
  startedAt: nullable(timestamp()),
  endedAt: nullable(timestamp()),
}) {}

export function toEffectView(effect: ShownEffect): EffectView {
  return EffectView.of({
    ...effect,
    code: effect.errorCode,
    operations: effect.operations.map(({ path, op, before, after }) => ({
      path,
      op,
      beforeSha256: before?.sha256 ?? null,
      afterSha256: after?.sha256 ?? null,
    })),
    createdAt: effect.createTime,
  });
}
