import { AnyObject, Flag, Id, Input, pageFields, Text, Whole } from '../platform/http/index.js';
import { FILTER_DESCRIPTION, MAX_FILTER_CHARS } from '../metadata/index.js';

const STATUS = '0 pending, 1 parsing, 2 parsed, 3 failed';

/** Characters of the text of a document that is written. */
const MAX_CONTENT_CHARS = 100_000;

export class AttachListQuery extends Input({
  ...pageFields(
    'id',
    'knowledgeId',
    'docId',
    'name',
    'type',
    'ossId',
    'byteSize',
    'encoding',
    'status',
    'remark',
    'fragmentCount',
    'progressDone',
    'progressTotal',
    'ocrDone',
    'ocrTotal',
    'contextDone',
    'inputTokens',
    'outputTokens',
    'createTime',
    'updateTime',
    { parsedTime: 'parsedAt' },
  ),
  knowledgeId: Id({ optional: true, description: 'Of this knowledge base' }),
  docId: Text({ optional: true, max: 32 }),
  name: Text({ optional: true, max: 500, description: 'Part of the name' }),
  type: Text({ optional: true, max: 50, example: '.pdf' }),
  ossId: Id({ optional: true, description: 'The stored file' }),
  status: Whole({ optional: true, min: 0, max: 3, description: STATUS }),
  filter: Text({
    optional: true,
    max: MAX_FILTER_CHARS,
    description: `${FILTER_DESCRIPTION}; as JSON text`,
    example: '{"key":"department","op":"eq","value":"sales"}',
  }),
}) {}

const METADATA =
  'Keys and values: a text, a number, a date such as 2026-01-31, or a list of texts (docs/KNOWLEDGE.md, Metadata)';
/** Longer than any that is accepted, with its escapes. */
const MAX_METADATA_TEXT_CHARS = 100_000;
const MAX_READERS_TEXT_CHARS = 50_000;

/** The fields of an upload beside its files. */
export class UploadBody extends Input({
  knowledgeId: Id({ description: 'The knowledge base that gets the documents' }),
  autoParse: Flag({
    optional: true,
    description: 'Parse them at once; otherwise they wait to be asked for',
  }),
  metadata: Text({
    optional: true,
    max: MAX_METADATA_TEXT_CHARS,
    description: `Of all files of the upload, as JSON text. ${METADATA}`,
    example: '{"department":"sales","year":2026}',
  }),
  readers: Text({
    optional: true,
    max: MAX_READERS_TEXT_CHARS,
    description:
      'Who of the users of the base may read the files, as JSON text: subjects; an empty list is no one but those who may change the base. Absent: all of them',
    example: '["group:9"]',
  }),
}) {}

/** A document that is written instead of uploaded. The form of existing consoles sends a type, too, which is not read. */
export class CreateAttachmentBody extends Input({
  knowledgeId: Id({ description: 'The knowledge base that gets the document' }),
  name: Text({ max: 255, example: 'Opening hours' }),
  content: Text({
    optional: true,
    max: MAX_CONTENT_CHARS,
    description: 'Its text as HTML',
    example: '<p>The shop opens at nine.</p>',
  }),
  remark: Text({ optional: true, max: 500 }),
}) {}

/** The whole metadata of a document: keys that are absent or null are removed. */
export class MetadataBody extends Input({
  metadata: AnyObject({
    description: METADATA,
    example: { department: 'sales', year: 2026, issued: '2026-01-31', tags: ['price', 'list'] },
  }),
}) {}

/** Absent and null fields keep their value; an empty remark clears it. */
export class UpdateAttachmentBody extends Input({
  id: Id(),
  name: Text({ optional: true, max: 255, description: 'Keeps its suffix, whatever is given' }),
  remark: Text({ optional: true, max: 500 }),
}) {}
