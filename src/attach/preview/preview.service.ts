import { Injectable } from '@nestjs/common';
import type { Caller } from '../../platform/access/index.js';
import { InvalidInputError } from '../../platform/error/index.js';
import { KnowledgeService, requireSplitSettings, splitSettings } from '../../knowledge/index.js';
import { ModelResolver } from '../../model/index.js';
import { StorageService } from '../../platform/storage/index.js';
import { msg } from '../../platform/message/index.js';
import { AttachRepository } from '../attach.repository.js';
import { DocumentParser } from '../parser/index.js';
import { estimateContext } from '../parsing/fragment-context.js';
import type { PageRecognition } from '../parser/index.js';
import type { PreviewBody } from './preview.dto.js';
import { toPreviewedFragment } from './preview.view.js';
import type { PreviewView } from './preview.view.js';

/** Fragments in a preview; `total` counts all. */
const SHOWN = 100;

/** A preview costs nothing, so it reads no images. */
const NO_RECOGNITION: PageRecognition = {
  longestSide: 0,
  begin: (pages) => Promise.reject(new ImagesInPreviewError(pages.length)),
  read: () => Promise.resolve([]),
};

class ImagesInPreviewError extends InvalidInputError {
  constructor(pages: number) {
    super(
      msg`The document has pages without text that text recognition would read (${pages}), which a preview does not do. Parse the document to see its fragments.`,
    );
  }
}

/** Splits a document with settings that are being considered, and stores nothing. */
@Injectable()
export class PreviewService {
  constructor(
    private readonly knowledge: KnowledgeService,
    private readonly attachments: AttachRepository,
    private readonly storage: StorageService,
    private readonly parser: DocumentParser,
    private readonly models: ModelResolver,
  ) {}

  async preview(
    caller: Caller,
    knowledgeId: number,
    { body, signal }: { readonly body: PreviewBody; readonly signal: AbortSignal },
  ): Promise<PreviewView> {
    const knowledge = await this.knowledge.readable(caller, knowledgeId);
    const attachment = await this.attachments.readable(caller, body.attachmentId, knowledge.id);
    const settings = {
      ...splitSettings(body, knowledge),
      separator: body.separator ?? knowledge.separator ?? '',
    };
    requireSplitSettings(settings);
    const { name, byteSize, ossId } = attachment;
    const { content } = await this.storage.open(caller.tenantId, ossId ?? 0);
    const file = { content, name, byteSize };
    const recognition = knowledge.enableOcr === 1 ? NO_RECOGNITION : undefined;
    const parsed = await this.parser.parse(file, settings, signal, recognition);
    const contextModel = body.contextModel ?? knowledge.contextModel ?? '';
    if (contextModel !== '') await this.models.resolveChatOf(caller, contextModel);
    const cost = contextModel === '' ? undefined : estimateContext({ ...parsed, name });
    return {
      attachmentId: attachment.id,
      total: parsed.fragments.length,
      encoding: parsed.encoding ?? null,
      contextCalls: cost?.calls ?? null,
      contextInputTokens: cost?.inputTokens ?? null,
      contextOutputTokens: cost?.outputTokens ?? null,
      fragments: parsed.fragments.slice(0, SHOWN).map(toPreviewedFragment),
    };
  }
}
