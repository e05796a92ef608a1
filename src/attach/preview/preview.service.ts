import { Injectable } from '@nestjs/common';
import {
  Id,
  Input,
  Text,
  Whole,
  integer,
  nullable,
  recordId,
  text,
  View,
} from '../../platform/http/index.js';
import type { FragmentDraft } from '../../fragment/splitter/index.js';
import type { Caller } from '../../platform/access/index.js';
import { KnowledgeService, requireSplitSettings } from '../../knowledge/index.js';
import { StorageService } from '../../platform/storage/index.js';
import { AttachRepository } from '../attach.repository.js';
import { DocumentParser } from '../parser/index.js';

/** Settings to try out; what is not given is taken from the knowledge base. */
export class PreviewBody extends Input({
  attachmentId: Id({ description: 'A document of the knowledge base' }),
  textBlockSize: Whole({ optional: true, max: 1_000_000, description: 'Above 0' }),
  overlapChar: Whole({
    optional: true,
    max: 1_000_000,
    description: 'At least 0, below textBlockSize',
  }),
  separator: Text({
    optional: true,
    max: 255,
    description: 'The two characters \\n mean a line feed',
  }),
}) {}

/** A fragment as the settings would make it. */
class PreviewedFragmentView extends View({
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
}) {
  fragments: PreviewedFragmentView[];
}

function toPreviewedFragment(draft: FragmentDraft, idx: number): PreviewedFragmentView {
  const { content, page, headings, location } = draft;
  return PreviewedFragmentView.of(draft, {
    idx,
    characters: content.length,
    page: page ?? null,
    headings: headings.length > 0 ? headings.join(' > ') : null,
    location: location ?? null,
  });
}

/** Fragments in a preview; `total` counts all. */
const SHOWN = 100;

/** Splits a document with settings that are being considered, and stores nothing. */
@Injectable()
export class PreviewService {
  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly attachments: AttachRepository,
    private readonly storage: StorageService,
    private readonly parser: DocumentParser,
  ) {}

  async preview(
    caller: Caller,
    knowledgeId: number,
    { body, signal }: { readonly body: PreviewBody; readonly signal: AbortSignal },
  ): Promise<PreviewView> {
    const knowledge = await this.knowledge.readable(caller, knowledgeId);
    const attachment = await this.attachments.ofKnowledge(
      caller.tenantId,
      knowledge.id,
      body.attachmentId,
    );
    const settings = {
      textBlockSize: body.textBlockSize ?? knowledge.textBlockSize,
      overlapChar: body.overlapChar ?? knowledge.overlapChar,
      separator: body.separator ?? knowledge.separator ?? '',
    };
    requireSplitSettings(settings);
    const { name, byteSize, ossId } = attachment;
    const { content } = await this.storage.open(caller.tenantId, ossId ?? 0);
    const parsed = await this.parser.parse({ content, name, byteSize }, settings, signal);
    return {
      attachmentId: attachment.id,
      total: parsed.fragments.length,
      encoding: parsed.encoding ?? null,
      fragments: parsed.fragments.slice(0, SHOWN).map(toPreviewedFragment),
    };
  }
}
