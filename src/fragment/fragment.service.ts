import { Injectable } from '@nestjs/common';
import type { Caller } from '../platform/access/index.js';
import { AuditLog } from '../platform/audit/index.js';
import { Database } from '../platform/database/index.js';
import { InvalidInputError, NotFoundError } from '../platform/error/index.js';
import { Answer, isBlank, OK_MESSAGE } from '../platform/http/index.js';
import type { Page } from '../platform/http/index.js';
import { msg, sentences } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import { KnowledgeService } from '../knowledge/index.js';
import type { KnowledgeBase } from '../knowledge/index.js';
import type { CreateFragmentBody, FragmentListQuery, UpdateFragmentBody } from './fragment.dto.js';
import type { Fragment } from './fragment.entity.js';
import { FragmentRepository, HEADING_SEPARATOR, searchableText } from './fragment.repository.js';
import { FragmentVectors } from './vector-removals.js';
import { toFragmentView } from './fragment.view.js';
import type { FragmentView } from './fragment.view.js';
import type { AnalysedText } from './keyword/text-analysis.js';
import { KeywordIndex } from './keyword/keyword-index.js';
import type { DocumentScope, NewFragment } from './fragment.repository.js';

const LABEL = msg`The fragment`;
const DOCUMENT = msg`The document`;

const ADDED = msg`Keyword search finds the fragment from now on, vector search does not. Parsing the document again replaces it.`;
const CHANGED = msg`Keyword search uses the new text from now on, vector search still the old one. Parsing the document again replaces it.`;

/**
 * The fragments of documents. Parsing and deletion handle the whole set of a document; users edit single ones, which
 * calls no model, so that vectors stay as parsing made them.
 */
@Injectable()
export class FragmentService {
  constructor(
    private readonly fragments: FragmentRepository,
    private readonly knowledge: KnowledgeService,
    private readonly keywords: KeywordIndex,
    private readonly vectors: FragmentVectors,
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Fragments of the knowledge bases that the caller may read. */
  async list(
    caller: Caller,
    { knowledgeId, ...query }: FragmentListQuery,
  ): Promise<Page<FragmentView>> {
    const readable = await this.knowledge.readableIds(caller);
    const ids =
      knowledgeId === undefined ? readable : readable.filter((one) => one === knowledgeId);
    return (await this.fragments.page(caller, ids, query)).map(toFragmentView);
  }

  async get(caller: Caller, id: number): Promise<FragmentView> {
    const fragment = await this.fragments.readable(caller, id);
    await this.knowledge.readable(caller, fragment.knowledgeId, LABEL);
    return toFragmentView(fragment);
  }

  async create(caller: Caller, body: CreateFragmentBody): Promise<Answer<FragmentView>> {
    const { tenantId } = caller;
    const { attachId, content, idx, remark = null } = body;
    const docId = body.docId?.trim() || undefined;
    if (docId === undefined && attachId === undefined) {
      throw new InvalidInputError(
        msg`docId or attachId is required: which document it is added to.`,
      );
    }
    const document = await this.fragments.document(caller, { docId, attachId });
    if (!document) throw new NotFoundError(DOCUMENT);
    const base = await this.knowledge.writable(caller, document.knowledgeId, DOCUMENT);
    const text = { content, headings: null, context: null };
    const analysed = await this.analyse(text, base, document.attachmentId);
    const { language, termCount } = analysed;
    return this.database.transaction(async () => {
      await this.lock(tenantId, document.attachmentId, DOCUMENT);
      const scope = { tenantId, ...document };
      const values = { content, language, termCount, idx, remark };
      const fragment = await this.fragments.insertEdited(scope, values);
      await this.keywords.replaceFragment(scope, fragment.id, analysed);
      await this.fragments.recount(tenantId, [document.attachmentId]);
      await this.record(caller, 'create', fragment.id);
      return new Answer(toFragmentView(fragment), sentences([OK_MESSAGE, ADDED]));
    });
  }

  async update(caller: Caller, body: UpdateFragmentBody): Promise<Answer<FragmentView>> {
    const { tenantId } = caller;
    const { id, content, remark } = body;
    if (content !== undefined && isBlank(content))
      throw new InvalidInputError(msg`content must not be empty.`);
    const before = await this.fragments.readable(caller, id);
    const base = await this.knowledge.writable(caller, before.knowledgeId, LABEL);
    const analysed =
      content === undefined || content === before.content
        ? undefined
        : await this.analyse({ ...before, content }, base, before.attachmentId);
    return this.database.transaction(async () => {
      await this.lock(tenantId, before.attachmentId, LABEL);
      const { language, termCount } = analysed ?? {};
      const edited = analysed ? true : undefined;
      await this.fragments.fragments.update(tenantId, id, {
        content,
        remark,
        edited,
        language,
        termCount,
      });
      if (analysed) await this.keywords.replaceFragment(before, id, analysed);
      await this.record(caller, 'update', id);
      const after = toFragmentView(await this.fragments.fragments.get(tenantId, id));
      return new Answer(after, analysed ? sentences([OK_MESSAGE, CHANGED]) : OK_MESSAGE);
    });
  }

  /** Deletes fragments with postings and vectors, all of them or, when one cannot be, none. */
  async remove(caller: Caller, ids: readonly number[]): Promise<void> {
    const { tenantId } = caller;
    const fragments = await this.fragments.find(caller, ids);
    if (fragments.length !== new Set(ids).size) throw new NotFoundError(LABEL);
    const bases = await this.writableBases(caller, fragments);
    const documents = [...new Set(fragments.map(({ attachmentId }) => attachmentId))];
    await this.database.transaction(async () => {
      await this.fragments.lockDocuments(tenantId, documents);
      await this.keywords.hold(tenantId, documents);
      for (const fragment of fragments) {
        await this.keywords.replaceFragment(fragment, fragment.id, undefined);
        await this.record(caller, 'delete', fragment.id);
      }
      await this.fragments.fragments.remove(tenantId, ids);
      await this.fragments.recount(tenantId, documents);
      for (const base of bases) {
        const baseFragments = fragments.filter(({ knowledgeId }) => knowledgeId === base.id);
        await this.vectors.removeFragments(
          base,
          baseFragments.map(({ id }) => id),
        );
      }
    });
  }

  /** Ids for fragments and their vectors, ascending, before either is written. */
  async reserveIds(count: number): Promise<number[]> {
    return this.fragments.reserveIds(count);
  }

  /** The highest id that was reserved so far; those after it belong to work that began later. */
  async lastId(): Promise<number> {
    return this.fragments.lastId();
  }

  /**
   * Replaces the fragments and keyword postings of a document. Call it in a transaction that has locked the document's
   * row; vectors are the caller's.
   */
  async replaceAll(scope: DocumentScope, fragments: readonly NewFragment[]): Promise<void> {
    await this.fragments.insertAll(scope, fragments);
    await this.keywords.replaceAttachment(
      scope,
      fragments.map(({ id, analysed }) => ({ fragmentId: id, analysed })),
    );
    await this.fragments.removeOthers(
      scope,
      fragments.map(({ id }) => id),
    );
  }

  /** Call it directly after the rows of several documents are locked, before the first `removeOf`. */
  async hold(tenantId: string, attachmentIds: readonly number[]): Promise<void> {
    await this.keywords.hold(tenantId, attachmentIds);
  }

  /**
   * Removes what a document has in the keyword index now, and its vectors once the open transaction is committed. Call
   * it before its row is deleted, which takes the fragments along.
   */
  async removeOf(knowledge: KnowledgeBase, attachmentId: number): Promise<void> {
    const { tenantId, id: knowledgeId } = knowledge;
    await this.keywords.removeAttachment({ tenantId, knowledgeId, attachmentId });
    await this.vectors.removeAttachment(knowledge, attachmentId);
  }

  /** Texts that the vectors of a document's stored fragments are made from, in document order. */
  async searchableTexts(
    tenantId: string,
    attachmentId: number,
  ): Promise<{ readonly id: number; readonly text: string }[]> {
    const fragments = await this.fragments.texts(tenantId, attachmentId);
    return fragments.map((fragment) => ({ id: fragment.id, text: storedText(fragment) }));
  }

  /** Whether vectors made and stored with the settings of one record can serve the other. */
  areVectorsShared(one: KnowledgeBase, other: KnowledgeBase): boolean {
    return this.vectors.areShared(one, other);
  }

  /** Number of edited fragments of the documents, which parsing again would delete. */
  async countEdited(tenantId: string, attachmentIds: readonly number[]): Promise<number> {
    return attachmentIds.length === 0 ? 0 : this.fragments.countEdited(tenantId, attachmentIds);
  }

  private async writableBases(
    caller: Caller,
    fragments: readonly Fragment[],
  ): Promise<KnowledgeBase[]> {
    const bases: KnowledgeBase[] = [];
    for (const id of new Set(fragments.map(({ knowledgeId }) => knowledgeId))) {
      bases.push(await this.knowledge.writable(caller, id, LABEL));
    }
    return bases;
  }

  private async analyse(
    fragment: Pick<Fragment, 'content' | 'headings' | 'context'>,
    { tenantId, id: knowledgeId, language }: KnowledgeBase,
    attachmentId: number,
  ): Promise<AnalysedText> {
    const base = { tenantId, knowledgeId, language, attachmentId };
    const [analysed] = await this.keywords.analyse([storedText(fragment)], base);
    if (!analysed) throw new Error('The keyword index has analysed no text.');
    return analysed;
  }

  private async lock(tenantId: string, attachmentId: number, label: Message): Promise<void> {
    const locked = await this.fragments.lockDocuments(tenantId, [attachmentId]);
    if (locked.length === 0) throw new NotFoundError(label);
  }

  private async record(
    caller: Caller,
    action: 'create' | 'update' | 'delete',
    id: number,
  ): Promise<void> {
    await this.audit.record(caller, { action, target: 'fragment', id });
  }
}

/** The searchable text of a fragment as it is stored. */
function storedText({
  content,
  headings,
  context,
}: Pick<Fragment, 'content' | 'headings' | 'context'>): string {
  return searchableText({
    content,
    headings: headings?.split(HEADING_SEPARATOR) ?? [],
    context,
  });
}
