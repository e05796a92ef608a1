import { Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import type { EventDraft } from '../store/event.catalogue.js';
import type { HarnessRun } from '../store/harness.entity.js';
import { SecretMask } from '../store/secret-mask.js';
import { BlobStore } from './blob.store.js';
import { FileChangeRepository } from '../store/file-change.repository.js';
import type { NewFileChange } from '../store/file-change.repository.js';
import type { FileOperation } from '../workspace/file-operation.js';
import { etagOf, netChanges } from './net-change.js';
import type { DiffTotals, KeptState, NetChange } from './net-change.js';
import { unifiedDiff } from './unified-diff.js';
import type { DiffSide, FileDiff } from './unified-diff.js';

/** Longest diff of one file in an event or an answer. */
export const DIFF_BYTES = 64 * 1024;
/** Events of one call; a command may change any number of files, and all of them get their rows. */
const EVENTS = 500;
/** How long one call's changes may be compared; the rest are shown without lines. */
const COMPARE_MS = 3_000;
const REMEMBERED_COUNTS = 2_000;

type ChangedRun = Pick<HarnessRun, 'id' | 'tenantId'>;
type Counts = Pick<FileDiff, 'additions' | 'deletions'>;

export interface DescribedChange extends Counts {
  readonly operation: FileOperation;
  /** Unified, at most 64 KiB. */
  readonly diff: string;
  readonly diffTruncated: boolean;
}

/** What `FileChanges.record` writes down. */
export interface DescribedChanges {
  readonly files: readonly DescribedChange[];
  /** Of the whole run, with these changes. */
  readonly totals: DiffTotals;
}

export interface ComparedSides {
  readonly path: string;
  readonly before: KeptState | null;
  readonly after: KeptState | null;
  /** False when the content before was not kept. */
  readonly restorable: boolean;
}

/** Compares kept contents, and writes the changes of runs down. */
@Injectable()
export class ChangeRecords {
  /** Lines added and deleted between two contents, which never change. */
  private readonly counts = new LRUCache<string, Counts>({ max: REMEMBERED_COUNTS });

  constructor(
    private readonly blobs: BlobStore,
    private readonly repository: FileChangeRepository,
    private readonly mask: SecretMask,
  ) {}

  async describe(run: ChangedRun, operations: readonly FileOperation[]): Promise<DescribedChanges> {
    const deadline = Date.now() + COMPARE_MS;
    const files: DescribedChange[] = [];
    for (const operation of operations) {
      files.push({ operation, ...(await this.compareWithin(deadline, run.tenantId, operation)) });
    }
    const earlier = await this.repository.ofRun(run.tenantId, run.id);
    const rows = [
      ...earlier.filter(({ undone }) => !undone),
      ...files.map((file) => rowOf(run, '', file)),
    ];
    return { files, totals: await this.totalsOf(run.tenantId, netChanges(rows)) };
  }

  async record(
    run: ChangedRun,
    toolCallId: string,
    { files, totals }: DescribedChanges,
  ): Promise<EventDraft[]> {
    if (files.length === 0) return [];
    await this.repository.insert(files.map((file) => rowOf(run, toolCallId, file)));
    const subject = { toolCallId };
    const changed = files.slice(0, EVENTS).map((file): EventDraft => {
      const { operation, additions, deletions, diff, diffTruncated } = file;
      const { path, op } = operation;
      const data = { path, op, additions, deletions, diff, diffTruncated };
      return { type: 'file.changed', data, subject };
    });
    return [...changed, { type: 'run.diff', data: totals, subject }];
  }

  async totals({ tenantId, id }: ChangedRun): Promise<DiffTotals> {
    const rows = await this.repository.ofRun(tenantId, id);
    return this.totalsOf(tenantId, netChanges(rows.filter(({ undone }) => !undone)));
  }

  /** The totals of net changes; files whose lines cannot be counted count as files alone. */
  async totalsOf(tenantId: string, nets: readonly NetChange[]): Promise<DiffTotals> {
    const deadline = Date.now() + COMPARE_MS;
    let [additions, deletions] = [0, 0];
    for (const net of nets) {
      const counts = await this.countsOf(tenantId, net, deadline);
      additions += counts.additions ?? 0;
      deletions += counts.deletions ?? 0;
    }
    return { files: nets.length, additions, deletions, etag: etagOf(nets) };
  }

  /** The difference of two kept contents, with the service's secrets masked and cut to 64 KiB. */
  async compare(
    tenantId: string,
    { path, before, after, restorable }: ComparedSides,
  ): Promise<Omit<DescribedChange, 'operation'>> {
    const { diff, additions, deletions } = unifiedDiff({
      path,
      before: await this.side(tenantId, before, restorable),
      after: await this.side(tenantId, after, true),
    });
    this.counts.set(keyOf(before, after), { additions, deletions });
    const shown = cutLines(this.mask.apply(diff), DIFF_BYTES);
    return { additions, deletions, diff: shown.text, diffTruncated: shown.cut };
  }

  /** The same until the deadline, in milliseconds since the epoch; after it nothing is compared. */
  async compareWithin(
    deadline: number,
    tenantId: string,
    sides: ComparedSides,
  ): Promise<Omit<DescribedChange, 'operation'>> {
    if (Date.now() < deadline) return this.compare(tenantId, sides);
    const diff = 'Not compared: the call has changed too much at once.\n';
    return { additions: null, deletions: null, diff, diffTruncated: true };
  }

  /** The lines of a net change, as `compareWithin`; a file of one change has them stored. */
  async countsOf(tenantId: string, net: NetChange, deadline: number): Promise<Counts> {
    const { path, before, after, changes } = net;
    const [only, ...more] = changes;
    if (only && more.length === 0) {
      return { additions: only.additions, deletions: only.deletions };
    }
    const known = this.counts.get(keyOf(before, after));
    if (known) return known;
    const restorable = only?.restorable ?? false;
    return this.compareWithin(deadline, tenantId, { path, before, after, restorable });
  }

  private async side(
    tenantId: string,
    state: KeptState | null,
    kept: boolean,
  ): Promise<DiffSide | null> {
    if (!state) return null;
    const content = kept ? await this.blobs.get(tenantId, state.sha256) : undefined;
    return { content, mode: state.mode };
  }
}

function keyOf(before: KeptState | null, after: KeptState | null): string {
  return `${before?.sha256 ?? ''}:${after?.sha256 ?? ''}`;
}

function rowOf(
  { tenantId, id: runId }: ChangedRun,
  toolCallId: string,
  { operation, additions, deletions }: DescribedChange,
): NewFileChange {
  const { path, op, before, after, restorable } = operation;
  return {
    ...{ tenantId, runId, toolCallId, path, op, additions, deletions, restorable },
    beforeSha256: before?.sha256 ?? null,
    afterSha256: after?.sha256 ?? null,
    beforeMode: before?.mode ?? null,
    afterMode: after?.mode ?? null,
  };
}

/** As many whole lines from the beginning as the bytes hold. */
export function cutLines(text: string, limitBytes: number): { text: string; cut: boolean } {
  const bytes = Buffer.from(text);
  if (bytes.length <= limitBytes) return { text, cut: false };
  const end = bytes.lastIndexOf(0x0a, limitBytes - 1) + 1;
  if (end > 0) return { text: bytes.toString('utf8', 0, end), cut: true };
  // One line that is too long by itself: no half of a character at its end.
  return { text: bytes.toString('utf8', 0, limitBytes).replace(/\ufffd{1,3}$/, ''), cut: true };
}
