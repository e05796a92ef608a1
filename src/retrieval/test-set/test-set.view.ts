import { ApiProperty } from '@nestjs/swagger';
import { Answer, Id, OK_MESSAGE, Text, Whole, wireTime } from '../../platform/http/index.js';
import { keyOf } from './judgement.js';
import type { Expected, TestQuery } from './test-set.entity.js';

/** Document names by expectation (keyOf); deleted ones have none. */
export type ExpectedNames = ReadonlyMap<string, string>;

/** An expected result; either docId or fid is set. */
export class ExpectedView {
  @Text({ optional: true, example: 'a1b2c3d4e5' })
  docId?: string;

  @Text({ optional: true, example: 'k3v9x0a2bq' })
  fid?: string;

  @Whole({ example: 1, description: '1 somewhat relevant, 2 relevant, 3 exactly the answer' })
  relevance: number;

  @Text({
    nullable: true,
    example: 'warranty.pdf',
    description: 'Name of its document; null when it was deleted',
  })
  sourceName: string | null;
}

/** One query of a test set. */
export class TestQueryView {
  @Id()
  id: number;

  @Text({ example: 'q1' })
  queryId: string;

  @Text({ example: 'How long is the warranty?' })
  query: string;

  @ApiProperty({ type: [ExpectedView] })
  expected: ExpectedView[];

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @Text({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

/** The result of an import. */
export class ImportView {
  @Whole({ example: 40, description: 'New queries' })
  added: number;

  @Whole({ example: 2, description: 'Queries that were replaced' })
  replaced: number;

  @Whole({
    example: 3,
    description: 'Queries left out, because none of their expected results exists',
  })
  skipped: number;

  @Whole({
    example: 7,
    description: 'Judgements left out, because their document or fragment does not exist',
  })
  unknown: number;
}

export function toTestQueryView(query: TestQuery, names: ExpectedNames): TestQueryView {
  return {
    id: query.id,
    queryId: query.queryId,
    query: query.query,
    expected: query.expected.map((one) => toExpectedView(one, names)),
    createTime: wireTime(query.createTime),
    updateTime: wireTime(query.updateTime),
  };
}

function toExpectedView(expected: Expected, names: ExpectedNames): ExpectedView {
  return { ...expected, sourceName: names.get(keyOf(expected)) ?? null };
}

/** The message names some of the unknown documents and fragments. */
export function toImportAnswer(view: ImportView, unknown: readonly string[]): Answer<ImportView> {
  if (unknown.length === 0) return new Answer(view, OK_MESSAGE);
  const named = unknown.slice(0, SHOWN).join(', ');
  const more = unknown.length > SHOWN ? ` and ${unknown.length - SHOWN} more` : '';
  return new Answer(
    view,
    `Left out judgements without a document or fragment in this knowledge base: ${named}${more}.`,
  );
}

const SHOWN = 5;
