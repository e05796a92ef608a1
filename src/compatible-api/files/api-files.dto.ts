import { AsSent, Given, Input } from '../../platform/http/index.js';

const TEXT = { type: 'string' } as const;
const INTEGER = { type: 'integer' } as const;

/** Checked by api-files.service.ts. */
@AsSent()
export class FileUploadBody extends Input({ purpose: Given(TEXT) }) {}

/** The text fields of an upload. */
export const FILE_FIELDS = {
  purpose: {
    type: 'string',
    description:
      'batch, user_data, vision or assistants. Required, unless the client sends anthropic-version',
  },
  'expires_after[anchor]': { type: 'string', description: 'created_at' },
  'expires_after[seconds]': {
    type: 'integer',
    description: '3600 to 2592000. Default: 30 days for batch, others are kept',
  },
  expires_in_seconds: {
    type: 'integer',
    description: 'The same in the form of Anthropic, with anthropic-version',
  },
} as const;

export class FilesQuery extends Input({
  limit: Given(INTEGER, {
    description: '1 to 10000; default 10000. With anthropic-version 1 to 1000; default 20',
  }),
  after: Given(TEXT, { description: 'The id of the last file of the page before' }),
  order: Given(TEXT, { description: 'asc or desc; default desc' }),
  purpose: Given(TEXT, { description: 'Files of this purpose alone' }),
  page: Given(TEXT, { description: 'With anthropic-version: next_page of the page before' }),
  after_id: Given(TEXT, { description: 'With anthropic-version: as after' }),
}) {}
