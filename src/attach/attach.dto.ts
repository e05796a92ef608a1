import { Flag, Id, PageQuery, Text, Whole } from '../platform/http/index.js';

const STATUS = '0 pending, 1 parsing, 2 parsed, 3 failed';

export class AttachListQuery extends PageQuery {
  @Id({ optional: true, description: 'Of this knowledge base' })
  knowledgeId?: number;

  @Text({ optional: true, max: 32 })
  docId?: string;

  @Text({ optional: true, max: 500, description: 'Part of the name' })
  name?: string;

  @Text({ optional: true, max: 50, example: '.pdf' })
  type?: string;

  @Id({ optional: true, description: 'The stored file' })
  ossId?: number;

  @Whole({ optional: true, min: 0, max: 3, description: STATUS })
  status?: number;
}

/** The fields of an upload beside its files. */
export class UploadBody {
  @Id({ description: 'The knowledge base that gets the documents' })
  knowledgeId: number;

  @Flag({ optional: true, description: 'Parse them at once; otherwise they wait to be asked for' })
  autoParse?: boolean;
}

/** What is absent or null stays as it is; an empty remark empties it. */
export class UpdateAttachmentBody {
  @Id()
  id: number;

  @Text({ optional: true, max: 255, description: 'Keeps its suffix, whatever is given' })
  name?: string;

  @Text({ optional: true, max: 500 })
  remark?: string;
}
