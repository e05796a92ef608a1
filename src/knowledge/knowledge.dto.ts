import {
  BasedOnRevision,
  Flag,
  Id,
  Input,
  pageFields,
  Text,
  ZeroOrOne,
} from '../platform/http/index.js';
import { KNOWLEDGE_SETTINGS } from './knowledge.settings.js';
import { inputFields } from './setting.kinds.js';

/** The settings by which a list can be ordered; a grant is no column of the base. */
const COLUMNS = Object.keys(KNOWLEDGE_SETTINGS).filter((name) => name !== 'share');

export class KnowledgeListQuery extends Input({
  ...pageFields('id', 'userId', ...COLUMNS, 'createTime', 'updateTime'),
  name: Text({ optional: true, max: 50, description: 'Part of the name' }),
  share: ZeroOrOne({ optional: true }),
  vectorModel: Text({ optional: true, max: 50 }),
  embeddingModel: Text({ optional: true, max: 200 }),
  enableHybrid: ZeroOrOne({ optional: true }),
  enableRerank: ZeroOrOne({ optional: true }),
  rerankModel: Text({ optional: true, max: 200 }),
}) {}

export class CreateKnowledgeBody extends Input({
  ...inputFields(KNOWLEDGE_SETTINGS),
  name: Text({ max: 50, example: 'Manuals' }),
}) {}

/** Fields that are absent or null keep their value; an empty text sets a text or a number back to its default. */
export class UpdateKnowledgeBody extends Input({
  ...inputFields(KNOWLEDGE_SETTINGS),
  id: Id(),
  revision: BasedOnRevision(),
  name: Text({ optional: true, max: 50, example: 'Manuals' }),
  reindex: Flag({
    optional: true,
    description:
      'Parse every document again; required to change embeddingModel or vectorModel once documents are parsed',
  }),
}) {}
