import { Flag, Id, Text, Whole, wireTime } from '../platform/http/index.js';
import type { Fragment } from './fragment.entity.js';

/** A fragment as its document's page shows it. */
export class FragmentView {
  @Id()
  id: number;

  @Text({ example: 'k3v9x0a2bq' })
  fid: string;

  @Text({ example: 'a1b2c3d4e5' })
  docId: string;

  @Id()
  knowledgeId: number;

  @Whole({ example: 0, description: 'Running number in the document, from 0' })
  idx: number;

  @Text({ example: 'The warranty lasts two years.' })
  content: string;

  @Whole({ nullable: true, example: 3, description: 'Page of its first character, from 1' })
  page: number | null;

  @Text({ nullable: true, example: 'Terms > Warranty' })
  headings: string | null;

  @Text({ nullable: true, example: 'lines 10-42' })
  location: string | null;

  @Whole({ nullable: true, example: 0, description: 'Where it begins in the extracted text' })
  charStart: number | null;

  @Whole({ nullable: true, example: 29, description: 'Where it ends, exclusive' })
  charEnd: number | null;

  @Flag({
    example: false,
    description: 'Written by hand: it has no vector of this text until its document is parsed',
  })
  edited: boolean;

  @Text({ example: '' })
  remark: string;

  @Text({ example: '2026-01-31 18:30:00' })
  createTime: string;

  @Text({ example: '2026-01-31 18:30:00' })
  updateTime: string;
}

export function toFragmentView(fragment: Fragment): FragmentView {
  const { id, fid, docId, knowledgeId, idx, content } = fragment;
  const { page, headings, location, charStart, charEnd, edited } = fragment;
  return {
    id,
    fid,
    docId,
    knowledgeId,
    idx,
    content,
    page,
    headings,
    location,
    charStart,
    charEnd,
    edited,
    remark: fragment.remark ?? '',
    createTime: wireTime(fragment.createTime),
    updateTime: wireTime(fragment.updateTime),
  };
}
