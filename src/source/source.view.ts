import {
  flag,
  integer,
  list,
  localized,
  nullable,
  object,
  oneOf,
  recordId,
  text,
  texts,
  time,
  uuid,
  View,
  wireTime,
} from '../platform/http/index.js';
import { RUN_STATES, RUN_TRIGGERS, SOURCE_KINDS } from './source.entity.js';
import type { RunState, RunTrigger, SourceKind, SourceRun } from './source.entity.js';
import type { ListedSource } from './source.repository.js';

const RESULTS = ['created', 'changed', 'unchanged', 'content-needed'] as const;

export class StoredDocumentView extends View({
  result: oneOf<(typeof RESULTS)[number]>(RESULTS, {
    description:
      'unchanged: nothing was parsed; content-needed: nothing was stored, because the etag is another one and no content came with it',
  }),
  id: nullable(recordId({ description: 'The document' })),
  unknownReaders: texts({
    example: [],
    description:
      'Names of the acl that no user or group has, or several have. They may not read it until exactly one has the name',
  }),
}) {}

export class BegunRunView extends View({
  cursor: uuid({ description: 'Completes the run' }),
  resumed: flag({ description: 'Whether it is the run that was open' }),
}) {}

export class RemovalView extends View({
  removed: integer({ example: 3 }),
  remaining: integer({
    example: 0,
    description: 'Documents that are still to be removed: send the request again until it is 0',
  }),
}) {}

export class SourceRunErrorView extends View({
  externalId: text({ example: 'handbook/leave.md' }),
  message: text({ example: 'Archives are not supported.' }),
}) {}

export class SourceRunView extends View({
  trigger: oneOf<RunTrigger>(RUN_TRIGGERS),
  state: oneOf<RunState>(RUN_STATES, {
    description: 'refused: its owner lacked the right; replaced: another run began before it ended',
  }),
  failure: nullable(text({ description: 'Why it failed or was refused' })),
  created: integer({ example: 2 }),
  changed: integer({ example: 1 }),
  unchanged: integer({ example: 40 }),
  removed: integer({ example: 0 }),
  failed: integer({ example: 0 }),
  errors: list(SourceRunErrorView, { description: 'The first failures' }),
  beginTime: time(),
  endTime: nullable(time()),
}) {
  static from(run: SourceRun): SourceRunView {
    return SourceRunView.of({
      trigger: run.trigger,
      state: run.state,
      failure: localized(run.failure),
      created: run.createdCount,
      changed: run.changedCount,
      unchanged: run.unchangedCount,
      removed: run.removedCount,
      failed: run.failedCount,
      errors: run.errors.map(({ externalId, message }) =>
        SourceRunErrorView.of({ externalId, message: localized(message) }),
      ),
      beginTime: wireTime(run.beganAt),
      endTime: wireTime(run.endedAt),
    });
  }
}

export class KnowledgeSourceView extends View({
  id: recordId(),
  name: text({ example: 'default' }),
  kind: oneOf<SourceKind>(SOURCE_KINDS, {
    description: 'push: a program puts its documents; the others are connectors of this service',
  }),
  documentCount: integer({ example: 43 }),
  address: nullable(text({ description: 'Where a connector reads; null for push' })),
  maxPages: nullable(integer({ example: 1_000 })),
  maxDepth: nullable(integer({ example: 10, description: 'web' })),
  branch: nullable(text({ description: 'git; null: that of the repository' })),
  folder: nullable(text({ example: 'docs', description: 'git, s3' })),
  patterns: texts({ example: ['**/*.md'], description: 'git, s3' }),
  hasToken: flag({ description: 'Whether a token is stored, which no answer has' }),
  cron: nullable(text({ description: 'When a connector runs; null: when it is asked to' })),
  timeZone: nullable(text()),
  paused: flag(),
  lastRun: nullable(object(SourceRunView)),
  createTime: time(),
}) {
  static from(source: ListedSource): KnowledgeSourceView {
    const { settings } = source;
    return KnowledgeSourceView.of({
      id: source.id,
      name: source.name,
      kind: source.kind,
      documentCount: source.documentCount,
      address: settings.address ?? null,
      maxPages: settings.maxPages ?? null,
      maxDepth: settings.maxDepth ?? null,
      branch: settings.branch ?? null,
      folder: settings.folder ?? null,
      patterns: settings.patterns ?? [],
      hasToken: source.secret !== null,
      cron: source.cron,
      timeZone: source.timeZone,
      paused: source.paused,
      lastRun: source.lastRun && SourceRunView.from(source.lastRun),
      createTime: wireTime(source.createTime),
    });
  }
}
