import { Id, Text, Whole } from '../../platform/http/index.js';
import type { FragmentDraft } from '../../fragment/splitter/index.js';

/** A fragment as the settings would make it. */
export class PreviewedFragmentView {
  @Whole({ example: 0 })
  idx: number;

  @Text({ example: 'The warranty lasts two years.' })
  content: string;

  @Whole({ example: 29, description: 'Length of the content' })
  characters: number;

  @Whole({ nullable: true, example: 3 })
  page: number | null;

  @Text({ nullable: true, example: 'Terms > Warranty' })
  headings: string | null;

  @Text({ nullable: true, example: 'lines 10-42' })
  location: string | null;
}

/** The first fragments of a document, and how many there would be. */
export class PreviewView {
  @Id()
  attachmentId: number;

  @Whole({ example: 120 })
  total: number;

  @Text({ nullable: true, example: 'utf-8' })
  encoding: string | null;

  fragments: PreviewedFragmentView[];
}

export function toPreviewedFragment(draft: FragmentDraft, idx: number): PreviewedFragmentView {
  const { content, page, headings, location } = draft;
  return {
    idx,
    content,
    characters: content.length,
    page: page ?? null,
    headings: headings.length > 0 ? headings.join(' > ') : null,
    location: location ?? null,
  };
}
