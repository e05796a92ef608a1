import {
  flag,
  integer,
  nullable,
  recordId,
  sheetOf,
  text,
  time,
  View,
} from '../platform/http/index.js';
import type { Fragment } from './fragment.entity.js';

/** A fragment as its document's page shows it. */
export class FragmentView extends View({
  id: recordId(),
  fid: text({ example: 'k3v9x0a2bq' }),
  docId: text({ example: 'a1b2c3d4e5' }),
  attachId: recordId(),
  knowledgeId: recordId(),
  idx: integer({ example: 0, description: 'Running number in the document, from 0' }),
  content: text({ example: 'The warranty lasts two years.' }),
  context: nullable(
    text({
      example: 'From the warranty terms of the Model 3 drill.',
      description: 'A line that a model wrote about it; searched with the text, no part of it',
    }),
  ),
  page: nullable(integer({ example: 3, description: 'Page of its first character, from 1' })),
  headings: nullable(text({ example: 'Terms > Warranty' })),
  location: nullable(text({ example: 'lines 10-42' })),
  charStart: nullable(
    integer({ example: 0, description: 'Where it begins in the extracted text' }),
  ),
  charEnd: nullable(integer({ example: 29, description: 'Where it ends, exclusive' })),
  edited: flag({
    example: false,
    description: 'Written by hand: it has no vector of this text until its document is parsed',
  }),
  remark: text({ example: '' }),
  createTime: time(),
  updateTime: time(),
}) {}

export const fragmentSheet = sheetOf<FragmentView>('Fragments', {
  id: 'Id',
  knowledgeId: 'Knowledge base',
  docId: 'Document id',
  idx: ['Number', (idx) => idx + 1],
  content: 'Text',
  context: 'Context',
  page: 'Page',
  headings: 'Headings',
  location: 'Location',
  edited: ['Edited', { true: 'Yes', false: 'No' }],
  remark: 'Remark',
  createTime: 'Created',
  updateTime: 'Changed',
});

export function toFragmentView(fragment: Fragment): FragmentView {
  return FragmentView.of(fragment, {
    attachId: fragment.attachmentId,
    remark: fragment.remark ?? '',
  });
}
