import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { pipeline } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable } from '@nestjs/common';
import { mayAny } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { ForbiddenError } from '../../platform/error/index.js';
import type { KnowledgeBase } from '../../knowledge/index.js';
import { displayName, isRefused, UploadEngine } from '../../platform/storage/index.js';
import { AttachRepository } from '../attach.repository.js';
import { AttachService } from '../attach.service.js';
import { AttachmentStatus } from '../attachment.entity.js';
import type { Attachment } from '../attachment.entity.js';
import { ParsingQueue } from '../parsing/parsing.queue.js';
import { isSkipped, loadFolder } from './folder.loader.js';
import type { FoundFile, SkippedEntry } from './folder.loader.js';
import { english } from '../../platform/message/index.js';

/** The permissions that storing, replacing and parsing again take. */
const PERMISSIONS = ['system:attach:add', 'system:attach:edit', 'system:attach:remove'];

/** Characters that the record of a stored file has room for. */
const MAX_NAME_CHARS = 255;

const LOOK_MS = 1_000;

/** Progress of one step of an import; the total is missing while it is unknown. */
export interface ImportProgress {
  readonly step: 'looking' | 'storing' | 'parsing';
  readonly done: number;
  readonly total?: number;
}

/** User, target and settings of an import. */
interface ImportRun {
  readonly caller: Caller;
  readonly knowledge: KnowledgeBase;
  readonly report: (progress: ImportProgress) => void;
  /** Ends the import between two files; what is stored by then stays, and is parsed sooner or later. */
  readonly signal: AbortSignal;
}

interface FailedFile {
  readonly name: string;
  readonly reason: string;
}

interface ImportResult {
  readonly parsed: number;
  readonly failed: readonly FailedFile[];
}

/** Makes the files of a folder documents of a knowledge base, each named by its path below the folder. */
@Injectable()
export class FolderImport {
  private readonly limitBytes: number;

  constructor(
    @Inject(CONFIG) config: Config,
    private readonly attachments: AttachRepository,
    private readonly service: AttachService,
    private readonly parsing: ParsingQueue,
    private readonly uploads: UploadEngine,
  ) {
    this.limitBytes = config.UPLOAD_LIMIT_MB * 2 ** 20;
  }

  /** Compares the folder with what the base holds, and stores nothing. */
  async plan({ caller, knowledge, report, signal }: ImportRun, path: string): Promise<ImportPlan> {
    const entries: (DigestedFile | SkippedEntry)[] = [];
    const options = {
      limitBytes: this.limitBytes,
      limitName: MAX_NAME_CHARS,
      recognition: knowledge.enableOcr === 1,
    };
    for await (const entry of loadFolder(path, options)) {
      signal.throwIfAborted();
      entries.push(isSkipped(entry) ? entry : await digested(entry));
      report({ step: 'looking', done: entries.length });
    }
    const documents = await this.attachments.allOf(caller.tenantId, knowledge.id);
    return planImport(
      entries,
      documents.filter(({ sourceId }) => sourceId === null),
    );
  }

  /**
   * Stores what is planned, asks for the parsing of what is new or has failed before, and waits until all of it has
   * ended. ForbiddenError when the caller may not change documents.
   */
  async run(run: ImportRun, plan: ImportPlan): Promise<ImportResult> {
    const { caller } = run;
    if (!PERMISSIONS.every((permission) => mayAny(caller, [permission]))) {
      throw new ForbiddenError();
    }
    const again = plan.unchanged.filter(({ status }) => status === AttachmentStatus.failed);
    await this.parsing.request(caller, again);
    const ids = new Set(again.map(({ id }) => id));
    const hashes = new Set(plan.unchanged.map(({ fileHash }) => fileHash));
    const failed: FailedFile[] = [];
    for (const [done, file] of plan.toStore.entries()) {
      run.report({ step: 'storing', done, total: plan.toStore.length });
      await this.attempt(run, { failed, name: file.name }, async () => {
        ids.add(await this.store(run, file, formerOf(plan, file)));
        hashes.add(file.sha256);
      });
    }
    for (const { document, replacedBy } of plan.outdated) {
      if (!hashes.has(replacedBy)) continue;
      const { id, name } = document;
      await this.attempt(run, { failed, name }, () => this.service.remove(caller, [id]));
    }
    const outcome = await this.settled(run, ids);
    return { parsed: outcome.parsed, failed: [...failed, ...outcome.failed] };
  }

  /** A document that fails does not stop the import. */
  private async attempt(
    { signal }: ImportRun,
    { failed, name }: { readonly failed: FailedFile[]; readonly name: string },
    act: () => Promise<void>,
  ): Promise<void> {
    try {
      await act();
    } catch (error) {
      signal.throwIfAborted();
      failed.push({ name, reason: error instanceof Error ? error.message : String(error) });
    }
  }

  private async store(
    { caller, knowledge, signal }: ImportRun,
    { path, name }: DigestedFile,
    former: ExistingDocument | undefined,
  ): Promise<number> {
    const received = await this.uploads.receive(createReadStream(path), name, signal);
    if (isRefused(received)) throw received.refusal;
    const named = { ...received, name };
    // Metadata and remarks that users entered are carried over.
    const { metadata, remark } = former ?? {};
    const options = { autoParse: true, metadata, remark: remark ?? undefined };
    const { id } = await this.service.create(caller, knowledge, named, options);
    return id;
  }

  /** The outcome of the parsing of the documents; those that were deleted meanwhile do not count. */
  private async settled(
    { caller, knowledge, report, signal }: ImportRun,
    ids: ReadonlySet<number>,
  ): Promise<ImportResult> {
    for (;;) {
      const all = await this.attachments.allOf(caller.tenantId, knowledge.id);
      const ours = all.filter(({ id }) => ids.has(id));
      const parsed = ours.filter(({ status }) => status === AttachmentStatus.parsed);
      const failed = ours.filter(({ status }) => status === AttachmentStatus.failed);
      const done = parsed.length + failed.length;
      report({ step: 'parsing', done, total: ours.length });
      if (done === ours.length) {
        const reasons = failed.map(({ name, failure }) => ({
          name,
          reason: failure ? english(failure) : '',
        }));
        return { parsed: done - failed.length, failed: reasons };
      }
      await sleep(LOOK_MS, undefined, { signal });
    }
  }
}

async function digested(file: FoundFile): Promise<DigestedFile | SkippedEntry> {
  // Folders stay visible in the name; of each part only what a name may hold.
  const name = file.name.split('/').map(displayName).join('/');
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(file.path), hash);
  } catch {
    return { name, skipped: 'unreadable' };
  }
  return { ...file, name, sha256: hash.digest('hex') };
}

export interface DigestedFile extends FoundFile {
  /** SHA-256 of the content, in lower-case hex. */
  readonly sha256: string;
}

/** A document that the knowledge base holds. */
export type ExistingDocument = Pick<
  Attachment,
  'id' | 'name' | 'fileHash' | 'status' | 'metadata' | 'remark'
>;

/** A document whose file has another content by now. */
interface OutdatedDocument {
  readonly document: ExistingDocument;
  /** Digest of what the file holds now: once the base has that, the document can go. */
  readonly replacedBy: string;
}

interface ImportPlan {
  readonly toStore: readonly DigestedFile[];
  readonly outdated: readonly OutdatedDocument[];
  /** Documents that the base has already, under any name. */
  readonly unchanged: readonly ExistingDocument[];
  readonly skipped: readonly SkippedEntry[];
}

/**
 * Plan of an import. A knowledge base stores a content once, so the first of several files with the same content is
 * taken. A document whose content is still in the folder is never deleted, even if its name belongs to another content
 * now.
 */
export function planImport(
  entries: readonly (DigestedFile | SkippedEntry)[],
  existing: readonly ExistingDocument[],
): ImportPlan {
  const skipped = entries.filter((entry) => isSkipped(entry));
  const files = entries.filter((entry): entry is DigestedFile => !isSkipped(entry));
  const first = new Map<string, DigestedFile>();
  for (const file of files) {
    if (first.has(file.sha256)) skipped.push({ name: file.name, skipped: 'same content' });
    else first.set(file.sha256, file);
  }
  const existingHashes = new Set(existing.map(({ fileHash }) => fileHash));
  const hashByName = new Map(files.map(({ name, sha256 }) => [name, sha256]));
  return {
    toStore: [...first.values()].filter(({ sha256 }) => !existingHashes.has(sha256)),
    outdated: existing.flatMap((document) => {
      const replacedBy = first.has(document.fileHash) ? undefined : hashByName.get(document.name);
      return replacedBy === undefined ? [] : [{ document, replacedBy }];
    }),
    unchanged: existing.filter(({ fileHash }) => first.has(fileHash)),
    skipped,
  };
}

/** The document that the file replaces. */
function formerOf({ outdated }: ImportPlan, { name }: DigestedFile): ExistingDocument | undefined {
  return outdated.findLast(({ document }) => document.name === name)?.document;
}

/** Names of one reason that are listed before the rest is only counted. */
const LISTED = 10;

/** Readable report of what an import would do. */
export function planReport(plan: ImportPlan): string {
  return [`Would store ${countsOf(plan)}.`, ...listOf(plan), ...skippedIn(plan)].join('\n');
}

/** Readable report of what an import did. */
export function importReport(plan: ImportPlan, { parsed, failed }: ImportResult): string {
  return [
    `Imported ${countsOf(plan)}. Parsed: ${parsed}, failed: ${failed.length}.`,
    ...failed.map(({ name, reason }) => `  failed: ${name}: ${reason}`),
    ...skippedIn(plan),
  ].join('\n');
}

function countsOf(plan: ImportPlan): string {
  const changed = plan.toStore.filter(({ name }) => isChanged(plan, name)).length;
  return `${plan.toStore.length - changed} new and ${changed} changed files, ${plan.unchanged.length} unchanged`;
}

function listOf(plan: ImportPlan): string[] {
  return plan.toStore.map(({ name }) => `  ${isChanged(plan, name) ? 'changed' : 'new'}: ${name}`);
}

function isChanged({ outdated }: ImportPlan, name: string): boolean {
  return outdated.some(({ document }) => document.name === name);
}

function skippedIn({ skipped }: ImportPlan): string[] {
  const byReason = Map.groupBy(skipped, (entry: SkippedEntry) => entry.skipped);
  return [...byReason].map(([reason, entries]) => {
    const names = entries.slice(0, LISTED).map(({ name }) => name);
    const more = entries.length - names.length;
    return `  skipped, ${reason} (${entries.length}): ${names.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
  });
}
