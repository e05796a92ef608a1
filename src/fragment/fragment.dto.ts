import { Id, PageQuery, Text, Whole } from '../platform/http/index.js';

const INTEGER = 2_147_483_647;
const LONGEST = 100_000;

export class FragmentListQuery extends PageQuery {
  @Text({ optional: true, max: 32, description: 'Of this document' })
  docId?: string;

  @Id({ optional: true, description: 'Of this knowledge base' })
  knowledgeId?: number;

  @Whole({ optional: true, min: 0, max: INTEGER })
  idx?: number;

  @Text({ optional: true, max: 1_000, description: 'Part of the text' })
  content?: string;
}

export class CreateFragmentBody {
  @Text({ max: 32, description: 'The document it is added to', example: 'a1b2c3d4e5' })
  docId: string;

  @Text({ max: LONGEST, example: 'The warranty lasts two years.' })
  content: string;

  @Whole({ optional: true, min: 0, max: INTEGER, description: 'Default: after the last one' })
  idx?: number;

  @Text({ optional: true, max: 500 })
  remark?: string;
}

/** What is absent or null stays as it is; an empty remark empties it. */
export class UpdateFragmentBody {
  @Id()
  id: number;

  @Text({ optional: true, max: LONGEST, example: 'The warranty lasts three years.' })
  content?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}
