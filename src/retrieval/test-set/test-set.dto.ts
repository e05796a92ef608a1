import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { ArrayMaxSize, ArrayMinSize, IsArray, IsOptional } from 'class-validator';
import {
  Decimal,
  Flag,
  Id,
  Input,
  Nested,
  OneOf,
  pageFields,
  ruleText,
  Text,
  VISIBLE,
  Whole,
} from '../../platform/http/index.js';
import type { Field } from '../../platform/http/index.js';
import { msg } from '../../platform/message/index.js';
import { ID_FORM, MAX_ID_CHARS, MAX_QUERY_CHARS } from './beir.js';
import { MAX_RETRIEVED } from '../../knowledge/index.js';

const MAX_EXPECTED_COUNT = 1_000;

/** A document or fragment that a query is expected to find. */
export class ExpectedBody extends Input({
  docId: Text({ optional: true, max: 32, description: 'A document', example: 'a1b2c3d4e5' }),
  fid: Text({
    optional: true,
    max: 32,
    description: 'A fragment instead of a document. Parsing its document again replaces it.',
  }),
  relevance: Whole({
    optional: true,
    min: 1,
    max: 3,
    description: '1 somewhat relevant, 2 relevant, 3 exactly the answer; default 1',
  }),
}) {}

function ExpectedList(description: string): PropertyDecorator {
  return applyDecorators(
    ApiProperty({ type: [ExpectedBody], description }),
    IsArray({ message: ruleText(msg`expected must be a list`) }),
    ArrayMinSize(1, { message: ruleText(msg`expected must not be empty`) }),
    ArrayMaxSize(MAX_EXPECTED_COUNT, {
      message: ruleText(msg`expected has more than ${MAX_EXPECTED_COUNT} entries`),
    }),
    Nested(() => ExpectedBody, {
      each: true,
      message: msg`each entry of expected must be an object`,
    }),
  );
}

export class TestQueryListQuery extends Input({
  ...pageFields('id', 'queryId', 'query', 'createTime', 'updateTime'),
  query: Text({ optional: true, max: MAX_QUERY_CHARS, description: 'Part of the text' }),
  queryId: Text({ optional: true, max: MAX_ID_CHARS }),
}) {}

export class CreateTestQueryBody extends Input({
  queryId: Text({
    optional: true,
    max: MAX_ID_CHARS,
    pattern: ID_FORM,
    patternMessage: msg`must not contain tabs or line breaks`,
    description: 'Id of the query in its test set; generated when not given',
    example: 'q1',
  }),
  query: Text({ max: MAX_QUERY_CHARS, example: 'How long is the warranty?' }),
}) {
  @ExpectedList('Expected documents and fragments')
  expected: ExpectedBody[];
}

/** Absent fields keep their value. */
export class UpdateTestQueryBody extends Input({
  id: Id(),
  query: Text({
    optional: true,
    max: MAX_QUERY_CHARS,
    pattern: VISIBLE,
    patternMessage: msg`must not be empty`,
  }),
}) {
  @ExpectedList('Replaces the expected documents and fragments')
  @IsOptional()
  expected?: ExpectedBody[];
}

/** The content of a file. Only a JSON body must have it; a form has the file itself. */
function contentOf(options: { description: string; example: string }): Field<string, true> {
  return applyDecorators(Text({ ...options, optional: true }), ApiProperty({ required: true }));
}

/** A test set in the layout of BEIR. */
export class ImportTestSetBody extends Input({
  queries: contentOf({
    description: 'Content of queries.jsonl: {"_id", "text"} in each line',
    example: '{"_id": "q1", "text": "How long is the warranty?"}',
  }),
  qrels: contentOf({
    description:
      'Content of qrels/test.tsv: query-id, corpus-id and score (1 to 3) between tabs. corpus-id is a docId, a fid, or the name of a document with or without its suffix.',
    example: 'query-id\tcorpus-id\tscore\nq1\twarranty\t1',
  }),
}) {}

export class ExportTestSetQuery extends Input({
  part: OneOf(['queries', 'qrels'], { description: 'Which of the two files' }),
}) {}

/** Omitted values are taken from the settings of the knowledge base. */
export class EvaluateBody extends Input({
  k: Whole({
    optional: true,
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Cut-off k of the metrics; default 10',
  }),
  topK: Whole({
    optional: true,
    min: 1,
    max: MAX_RETRIEVED,
    description: 'Number of retrieved fragments; replaces retrieveLimit',
  }),
  threshold: Decimal({
    optional: true,
    min: -1,
    max: 1,
    description: 'Replaces similarityThreshold',
  }),
  enableHybrid: Flag({ optional: true }),
  hybridAlpha: Decimal({
    optional: true,
    min: 0,
    max: 1,
    description: 'Weight of the keyword channel',
  }),
  enableRerank: Flag({ optional: true }),
  rerankModel: Text({
    optional: true,
    max: 200,
    description: 'modelName of a model of category rerank',
  }),
}) {}

export class EvaluationListQuery extends Input({
  ...pageFields('id', 'k', 'queryCount', 'ndcg', 'recall', 'mrr', 'createTime'),
  withResults: Flag({
    optional: true,
    description: 'Also answer the result of each query; then at most 10 runs per page',
  }),
}) {}
