import {
  Answer,
  integer,
  list,
  nullable,
  OK_MESSAGE,
  optional,
  recordId,
  text,
  time,
  View,
} from '../../platform/http/index.js';
import { msg, phrase } from '../../platform/message/index.js';
import { keyOf } from './judgement.js';
import type { TestQuery } from './test-set.entity.js';

/** Document names by expectation (keyOf); deleted ones have none. */
export type ExpectedNames = ReadonlyMap<string, string>;

/** An expected result; either docId or fid is set. */
export class ExpectedView extends View({
  docId: optional(text({ example: 'a1b2c3d4e5' })),
  fid: optional(text({ example: 'k3v9x0a2bq' })),
  relevance: integer({
    example: 1,
    description: '1 somewhat relevant, 2 relevant, 3 exactly the answer',
  }),
  sourceName: nullable(
    text({
      example: 'warranty.pdf',
      description: 'Name of its document; null when it was deleted',
    }),
  ),
}) {}

/** One query of a test set. */
export class TestQueryView extends View({
  id: recordId(),
  queryId: text({ example: 'q1' }),
  query: text({ example: 'How long is the warranty?' }),
  expected: list(ExpectedView),
  createTime: time(),
  updateTime: time(),
}) {}

/** The result of an import. */
export class ImportView extends View({
  added: integer({ example: 40, description: 'New queries' }),
  replaced: integer({ example: 2, description: 'Queries that were replaced' }),
  skipped: integer({
    example: 3,
    description: 'Queries left out, because none of their expected results exists',
  }),
  unknown: integer({
    example: 7,
    description: 'Judgements left out, because their document or fragment does not exist',
  }),
}) {}

export function toTestQueryView(query: TestQuery, names: ExpectedNames): TestQueryView {
  const expected = query.expected.map((one) => ({
    ...one,
    sourceName: names.get(keyOf(one)) ?? null,
  }));
  return TestQueryView.of(query, { expected });
}

/** The message names some of the unknown documents and fragments. */
export function toImportAnswer(view: ImportView, unknown: readonly string[]): Answer<ImportView> {
  if (unknown.length === 0) return new Answer(view, OK_MESSAGE);
  const some = unknown.slice(0, SHOWN).join(', ');
  const named = unknown.length > SHOWN ? phrase`${some} and ${unknown.length - SHOWN} more` : some;
  return new Answer(
    view,
    msg`Left out judgements without a document or fragment in this knowledge base: ${named}.`,
  );
}

const SHOWN = 5;
