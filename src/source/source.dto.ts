import { Flag, Given, Input, OneOf, Text, Texts, Whole } from '../platform/http/index.js';
import { CONNECTOR_KINDS } from './source.entity.js';

const MAX_TEXT_CHARS = 500_000;
const MAX_NAME_CHARS = 100;

const sourceField = Text({
  optional: true,
  max: MAX_NAME_CHARS,
  description: 'Name of the source within the base. Default: default',
  example: 'sharepoint',
});

/** The source of the base; `default` where none is named. */
export class SourceQuery extends Input({ source: sourceField }) {}

export class BeginQuery extends Input({
  source: sourceField,
  resume: Flag({
    optional: true,
    description: 'Go on with the open run, if there is one, instead of replacing it',
  }),
}) {}

export class PutDocumentBody extends Input({
  text: Text({
    optional: true,
    max: MAX_TEXT_CHARS,
    description: 'The content as text. A file is the part named file of a form with these fields',
  }),
  address: Text({
    optional: true,
    max: 2_000,
    description: 'The address that the content is fetched from',
    example: 'https://example.com/handbook.pdf',
  }),
  name: Text({
    optional: true,
    max: 255,
    description: 'File name; its suffix tells the format. Default: from the file, address or id',
    example: 'handbook.md',
  }),
  etag: Text({
    optional: true,
    max: 500,
    description:
      'Mark of the content at the source. While it is the same, no content is needed and nothing is parsed. Default: contents are compared',
    example: 'v7',
  }),
  metadata: Given(
    { type: 'object', additionalProperties: true },
    {
      description:
        'Keys and values (docs/KNOWLEDGE.md, Metadata); JSON in a form. Absent: stays as it is',
      example: { department: 'sales' },
    },
  ),
  acl: Given(
    {
      type: 'object',
      properties: {
        public: { type: 'boolean' },
        users: { type: 'array', items: { type: 'string' } },
        groups: { type: 'array', items: { type: 'string' } },
      },
    },
    {
      description:
        'Who of the users of the base may read it: {"public": true}, or users by user name, id in the directory or e-mail and groups by id in the directory or name. JSON in a form. Absent: stays as it is',
      example: { users: ['ada@example.com'], groups: ['Engineering'] },
    },
  ),
}) {}

export class CompleteBody extends Input({
  cursor: Text({ max: 36, pattern: /^[\da-f-]{36}$/, description: 'Of the answer that began it' }),
  allowEmpty: Flag({
    optional: true,
    description: 'Remove all documents of the source if the run has put none. Default: refuse that',
  }),
}) {}

export const DEFAULT_PAGES = 1_000;
export const DEFAULT_DEPTH = 10;

export class ConnectorBody extends Input({
  name: Text({ max: MAX_NAME_CHARS, description: 'Name of the source within the base' }),
  kind: OneOf(CONNECTOR_KINDS, {
    description:
      'web: the pages of a site; git: the files of a repository over HTTP; s3: those of a bucket',
  }),
  address: Text({
    max: 2_000,
    pattern: /^https?:\/\/[^/]/i,
    description:
      'Where the site begins; pages at or below its folder belong to it. Of git: the repository; of s3: server and bucket, with ?region= where the host does not name it',
    example: 'https://example.com/docs/',
  }),
  maxPages: Whole({
    optional: true,
    min: 1,
    max: 100_000,
    description: `Pages or files that a run reads; default ${DEFAULT_PAGES}. A run that reaches it removes nothing`,
  }),
  maxDepth: Whole({
    optional: true,
    min: 0,
    max: 100,
    description: `Links from the start address or a sitemap to a page; default ${DEFAULT_DEPTH}`,
  }),
  branch: Text({ optional: true, max: 250, description: 'git; default: that of the repository' }),
  folder: Text({
    optional: true,
    max: 1_000,
    description: 'git, s3: its files alone',
    example: 'docs',
  }),
  patterns: Texts({
    optional: true,
    maxItems: 20,
    max: 200,
    description: 'git, s3: patterns of paths below the folder; default: all files',
    example: ['**/*.md'],
  }),
  token: Text({
    optional: true,
    max: 1_000,
    description:
      'git: password for the repository; s3: access key id and secret, joined by a colon. Absent: stays while the server stays the same; empty: removed',
  }),
  cron: Text({
    optional: true,
    max: 100,
    description: 'When it runs: five fields. Absent: when it is asked to',
    example: '0 6 * * 1-5',
  }),
  timeZone: Text({ optional: true, max: 64, description: 'Default: that of the service' }),
}) {}

export class PauseBody extends Input({
  paused: Flag({ description: 'Whether its schedule is ignored' }),
}) {}

export const DEFAULT_SOURCE = 'default';
