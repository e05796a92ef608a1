import { integer, list, nullable, recordId, text, View } from '../../platform/http/index.js';
import type { FragmentDraft } from '../../fragment/splitter/index.js';

/** A fragment as the settings would make it. */
export class PreviewedFragmentView extends View({
  idx: integer({ example: 0 }),
  content: text({ example: 'The warranty lasts two years.' }),
  characters: integer({ example: 29, description: 'Length of the content' }),
  page: nullable(integer({ example: 3 })),
  headings: nullable(text({ example: 'Terms > Warranty' })),
  location: nullable(text({ example: 'lines 10-42' })),
}) {}

/** The first fragments of a document, and how many there would be. */
export class PreviewView extends View({
  attachmentId: recordId(),
  total: integer({ example: 120 }),
  encoding: nullable(text({ example: 'utf-8' })),
  contextCalls: nullable(
    integer({
      example: 120,
      description: 'Calls of the model that writes context; null without a contextModel',
    }),
  ),
  contextInputTokens: nullable(
    integer({ example: 96_000, description: 'Tokens that it would read, estimated' }),
  ),
  contextOutputTokens: nullable(
    integer({ example: 7_200, description: 'Tokens that it would write, estimated' }),
  ),
  fragments: list(PreviewedFragmentView),
}) {}

export function toPreviewedFragment(draft: FragmentDraft, idx: number): PreviewedFragmentView {
  const { content, page, headings, location } = draft;
  return PreviewedFragmentView.of(draft, {
    idx,
    characters: content.length,
    page: page ?? null,
    headings: headings.length > 0 ? headings.join(' > ') : null,
    location: location ?? null,
  });
}
