import { Id, Input, pageFields, Text, Whole } from '../platform/http/index.js';

const INTEGER = 2_147_483_647;
const LONGEST = 100_000;

export class FragmentListQuery extends Input({
  ...pageFields(
    'id',
    'fid',
    'docId',
    'knowledgeId',
    'idx',
    'content',
    'page',
    'headings',
    'location',
    'charStart',
    'charEnd',
    'edited',
    'remark',
    'createTime',
    'updateTime',
  ),
  docId: Text({ optional: true, max: 32, description: 'Of this document' }),
  knowledgeId: Id({ optional: true, description: 'Of this knowledge base' }),
  fid: Text({ optional: true, max: 32, description: 'The fragment that a source names' }),
  idx: Whole({ optional: true, min: 0, max: INTEGER }),
  content: Text({ optional: true, max: 1_000, description: 'Part of the text' }),
}) {}

export class CreateFragmentBody extends Input({
  docId: Text({
    optional: true,
    max: 32,
    description: 'The document it is added to; else attachId',
    example: 'a1b2c3d4e5',
  }),
  attachId: Id({ optional: true, description: 'The same document by the id of its record' }),
  content: Text({ max: LONGEST, example: 'The warranty lasts two years.' }),
  idx: Whole({ optional: true, min: 0, max: INTEGER, description: 'Default: after the last one' }),
  remark: Text({ optional: true, max: 500 }),
}) {}

/** Absent and null fields keep their value; an empty remark clears it. */
export class UpdateFragmentBody extends Input({
  id: Id(),
  content: Text({ optional: true, max: LONGEST, example: 'The warranty lasts three years.' }),
  remark: Text({ optional: true, max: 500 }),
}) {}
