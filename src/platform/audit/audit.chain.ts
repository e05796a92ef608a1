import { Inject, Injectable } from '@nestjs/common';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { inTenant } from '../database/index.js';
import { PeriodicRound } from '../queue/index.js';
import { AuditExport } from './audit.export.js';
import { AuditChainRepository, linkDigest, personalDigest } from './audit-chain.repository.js';
import type { StoredLink } from './audit-chain.repository.js';

/** An entry is linked, and exported, within this time after it was committed. */
const ROUND_MS = 10_000;
/** Entries of one verification; the answer says where the next one continues. */
const MAX_VERIFIED_COUNT = 100_000;
const MAX_PROBLEM_COUNT = 100;
const MAX_ROUND_BATCHES = 1_000;
/** No transaction is older, so an entry that claims to be older than the one before it was inserted. */
const MAX_DELAY_MS = 60 * 60_000;

export type ProblemKind = 'changed' | 'removed' | 'inserted';

export interface ChainProblem {
  readonly kind: ProblemKind;
  /** Number in the chain; null for an entry that has none. */
  readonly number: number | null;
  readonly entryId: number | null;
}

export interface Verification {
  readonly checkedCount: number;
  /** The last verified link. Compare it with the copy that was exported. */
  readonly number: number;
  readonly digest: string;
  /** Where the next verification continues; null at the end of the chain. */
  readonly nextAfter: number | null;
  readonly problems: readonly ChainProblem[];
}

/**
 * The hash chain over the entries of each tenant. It is made after the entries are committed: a chain in the transaction of the
 * entry would let the writers of a tenant wait for each other (docs/decisions/0047-audit-chain.md).
 */
@Injectable()
export class AuditChain extends PeriodicRound {
  constructor(
    @Inject(CONFIG) config: Config,
    private readonly repository: AuditChainRepository,
    private readonly exporter: AuditExport,
  ) {
    super(config, 'Failed to link audit entries', ROUND_MS);
  }

  /** Links all entries that are committed, and exports them where AUDIT_EXPORT is set. */
  async round(ending?: AbortSignal): Promise<void> {
    for (const tenantId of await this.repository.unlinked()) {
      if (ending?.aborted) return;
      await inTenant(tenantId, () => this.link(tenantId, ending));
    }
    await this.exporter.run(ending);
  }

  /** Removes a batch of entries from the begin of the chain that are older than the days. */
  cut(tenantId: string, days: number): Promise<number> {
    const onlyExported = this.config.AUDIT_EXPORT !== undefined;
    return this.repository.cut(tenantId, { days, onlyExported });
  }

  /** Checks the chain after the number against the entries: what was changed, removed or inserted. */
  async verify(tenantId: string, after = 0): Promise<Verification> {
    await this.link(tenantId);
    const chain = await this.repository.find(tenantId);
    const problems: ChainProblem[] = [];
    let number = Math.max(after, chain.anchorNumber);
    let digest = chain.anchorDigest;
    if (number > chain.anchorNumber) {
      const [start] = await this.repository.links(tenantId, number - 1, 1);
      if (start?.number === number) digest = start.digest;
      else problems.push({ kind: 'removed', number, entryId: null });
    } else {
      const strays = await this.repository.strayEntries(tenantId, MAX_PROBLEM_COUNT);
      for (const entryId of strays) problems.push({ kind: 'inserted', number: null, entryId });
    }
    const begin = number;
    let previousTime = -Infinity;
    let isEnd = false;
    while (!isEnd && number - begin < MAX_VERIFIED_COUNT) {
      const links = await this.repository.links(tenantId, number);
      isEnd = links.length === 0;
      for (const link of links) {
        for (let missing = number + 1; missing < link.number; missing += 1) {
          if (problems.length >= MAX_PROBLEM_COUNT) break;
          problems.push({ kind: 'removed', number: missing, entryId: null });
        }
        const kind = problemOf(tenantId, digest, link, previousTime);
        if (kind && problems.length < MAX_PROBLEM_COUNT) {
          problems.push({ kind, number: link.number, entryId: link.entryId });
        }
        if (link.entry) previousTime = Date.parse(link.entry.createTime);
        ({ number, digest } = link);
      }
    }
    const isCut = number !== chain.lastNumber || digest !== chain.lastDigest;
    if (isEnd && number < chain.lastNumber) {
      problems.push({ kind: 'removed', number: chain.lastNumber, entryId: null });
    } else if (isEnd && isCut && number === chain.lastNumber) {
      problems.push({ kind: 'changed', number, entryId: null });
    }
    const nextAfter = isEnd ? null : number;
    return { checkedCount: number - begin, number, digest, nextAfter, problems };
  }

  private async link(tenantId: string, ending?: AbortSignal): Promise<void> {
    for (let batch = 0; batch < MAX_ROUND_BATCHES && !ending?.aborted; batch += 1) {
      if (!(await this.repository.link(tenantId))) return;
    }
  }
}

function problemOf(
  tenantId: string,
  previous: string,
  link: StoredLink,
  previousTime: number,
): ProblemKind | undefined {
  const { entry, salt } = link;
  if (!entry) return 'removed';
  const isPersonalIntact =
    salt === null
      ? entry.actorName === null && entry.ip === null
      : personalDigest(salt, entry) === link.personalDigest;
  if (!isPersonalIntact || linkDigest(tenantId, previous, link, entry) !== link.digest) {
    return 'changed';
  }
  const isLate = Date.parse(entry.createTime) < previousTime - MAX_DELAY_MS;
  return isLate ? 'inserted' : undefined;
}
