import { createHash, randomUUID } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { acrossTenants, Database } from '../database/index.js';

/** Digest before the first entry of a tenant. */
export const GENESIS = '0'.repeat(64);

/** Entries of one transaction. */
const MAX_BATCH_COUNT = 1_000;
const MAX_TENANT_COUNT = 10_000;
const LEASE_SECONDS = 60;

/** An entry as it is hashed: texts as PostgreSQL writes them, which do not depend on the driver. */
export interface ChainedEntry {
  readonly id: number;
  readonly actorId: number | null;
  readonly actorName: string | null;
  readonly action: string;
  readonly targetType: string;
  readonly targetId: string | null;
  /** Text of the jsonb. */
  readonly detail: string;
  readonly ip: string | null;
  readonly requestId: string | null;
  /** UTC, with microseconds. */
  readonly createTime: string;
}

/** A link, with its entry unless that was removed. */
export interface StoredLink {
  readonly number: number;
  readonly entryId: number;
  readonly digest: string;
  readonly personalDigest: string;
  readonly salt: string | null;
  readonly entry: ChainedEntry | null;
}

export interface StoredChain {
  readonly lastNumber: number;
  readonly lastDigest: string;
  readonly anchorNumber: number;
  readonly anchorDigest: string;
  readonly floorId: number;
  readonly exportedNumber: number;
}

const ENTRY = `jsonb_build_object('id', e.id, 'actorId', e.actor_id, 'actorName', e.actor_name, 'action', e.action,
  'targetType', e.target_type, 'targetId', e.target_id, 'detail', e.detail::text, 'ip', e.ip, 'requestId', e.request_id,
  'createTime', to_char(e.create_time AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))`;

const CHAIN = `last_number AS "lastNumber", last_digest AS "lastDigest", anchor_number AS "anchorNumber",
  anchor_digest AS "anchorDigest", floor_id AS "floorId", exported_number AS "exportedNumber"`;

/** Name and address are hashed apart, so that the erasure of a user can remove them without breaking the chain. */
export function personalDigest(salt: string, { actorName, ip }: ChainedEntry): string {
  return digestOf([salt, actorName, ip]);
}

export function linkDigest(
  tenantId: string,
  previous: string,
  { number, personalDigest: personal }: Pick<StoredLink, 'number' | 'personalDigest'>,
  entry: ChainedEntry,
): string {
  const { id, actorId, action, targetType, targetId, detail, requestId, createTime } = entry;
  return digestOf([
    ...[previous, tenantId, number, id, actorId, action, targetType, targetId, detail, requestId],
    ...[createTime, personal],
  ]);
}

function digestOf(values: readonly unknown[]): string {
  return createHash('sha256').update(JSON.stringify(values)).digest('hex');
}

/** The links of the chains, their ends, and the position of the export. */
@Injectable()
export class AuditChainRepository {
  constructor(private readonly database: Database) {}

  /** Tenants with entries that have no link yet: one look into the index for each, where EXISTS would join all entries. */
  async unlinked(): Promise<string[]> {
    const rows = await acrossTenants('tenants with unlinked audit entries', () =>
      this.database.query<{ tenantId: string }>(
        `SELECT t.tenant_id AS "tenantId" FROM tenant t LEFT JOIN audit_chain c ON c.tenant_id = t.tenant_id
          WHERE (SELECT true FROM audit_entry e WHERE e.tenant_id = t.tenant_id AND e.id > coalesce(c.floor_id, 0)
                    AND NOT EXISTS (SELECT FROM audit_link l WHERE l.tenant_id = e.tenant_id AND l.entry_id = e.id)
                  ORDER BY e.id LIMIT 1)
          LIMIT $1`,
        [MAX_TENANT_COUNT],
      ),
    );
    return rows.map(({ tenantId }) => tenantId);
  }

  /**
   * Links a batch of entries, in the order of their ids, as far as they are committed: one that commits later gets a later
   * number. Locks the end of the chain, not the writers of entries. Answers whether more remain.
   */
  async link(tenantId: string): Promise<boolean> {
    return this.database.transaction(async () => {
      const chain = await this.lock(tenantId);
      const entries = await this.database.query<{ entry: ChainedEntry }>(
        `SELECT ${ENTRY} AS entry FROM audit_entry e
          WHERE e.tenant_id = $1 AND e.id > $2
            AND NOT EXISTS (SELECT FROM audit_link l WHERE l.tenant_id = $1 AND l.entry_id = e.id)
          ORDER BY e.id LIMIT $3`,
        [tenantId, chain.floorId, MAX_BATCH_COUNT],
      );
      let [number, digest] = [chain.lastNumber, chain.lastDigest];
      const links = entries.map(({ entry }) => {
        number += 1;
        const salt = randomUUID();
        const personal = personalDigest(salt, entry);
        digest = linkDigest(tenantId, digest, { number, personalDigest: personal }, entry);
        return { number, entryId: entry.id, digest, personal, salt };
      });
      if (links.length === 0) return false;
      await this.database.query(
        `INSERT INTO audit_link (tenant_id, number, entry_id, digest, personal_digest, salt)
         SELECT $1, link.* FROM unnest($2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::uuid[]) AS link`,
        [
          ...[tenantId, links.map((link) => link.number), links.map(({ entryId }) => entryId)],
          ...[links.map((link) => link.digest), links.map(({ personal }) => personal)],
          links.map(({ salt }) => salt),
        ],
      );
      // No transaction is an hour old, so no entry with a smaller id is still to come.
      await this.database.query(
        `UPDATE audit_chain SET last_number = $2, last_digest = $3, floor_id = greatest(floor_id, (
           SELECT coalesce(max(e.id), 0) FROM audit_entry e
            WHERE e.tenant_id = $1 AND e.id > $4 AND e.id <= $5 AND e.create_time < now() - interval '1 hour'))
          WHERE tenant_id = $1`,
        [tenantId, number, digest, chain.floorId, links.at(-1)?.entryId],
      );
      return links.length === MAX_BATCH_COUNT;
    });
  }

  async find(tenantId: string, lock: 'FOR UPDATE' | '' = ''): Promise<StoredChain> {
    const [chain] = await this.database.query<StoredChain>(
      `SELECT ${CHAIN} FROM audit_chain WHERE tenant_id = $1 ${lock}`,
      [tenantId],
    );
    const start = { lastNumber: 0, lastDigest: GENESIS, anchorNumber: 0, anchorDigest: GENESIS };
    return chain ?? { ...start, floorId: 0, exportedNumber: 0 };
  }

  /** Links after the number, with their entries. */
  links(tenantId: string, after: number, limit = MAX_BATCH_COUNT): Promise<StoredLink[]> {
    return this.database.query(
      `SELECT l.number, l.entry_id AS "entryId", l.digest, l.personal_digest AS "personalDigest", l.salt,
              CASE WHEN e.id IS NOT NULL THEN ${ENTRY} END AS entry
         FROM audit_link l LEFT JOIN audit_entry e ON e.tenant_id = $1 AND e.id = l.entry_id
        WHERE l.tenant_id = $1 AND l.number > $2 ORDER BY l.number LIMIT $3`,
      [tenantId, after, limit],
    );
  }

  /** Entries without a link that are older than every entry that could still be linked. */
  async strayEntries(tenantId: string, limit: number): Promise<number[]> {
    const rows = await this.database.query<{ id: number }>(
      `SELECT e.id FROM audit_entry e JOIN audit_chain c ON c.tenant_id = $1
        WHERE e.tenant_id = $1 AND e.id <= c.floor_id
          AND NOT EXISTS (SELECT FROM audit_link l WHERE l.tenant_id = $1 AND l.entry_id = e.id)
        ORDER BY e.id LIMIT $2`,
      [tenantId, limit],
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Removes a batch of entries from the begin of the chain that are older than the days: up to the first one that is not, or is
   * of a user under legal hold or, with `onlyExported`, not exported. Answers how many.
   */
  async cut(
    tenantId: string,
    { days, onlyExported }: { readonly days: number; readonly onlyExported: boolean },
  ): Promise<number> {
    return this.database.transaction(async () => {
      const { anchorNumber, exportedNumber, lastNumber } = await this.lock(tenantId);
      const [first] = await this.database.query<{ number: number }>(
        `SELECT l.number FROM audit_link l JOIN audit_entry e ON e.tenant_id = $1 AND e.id = l.entry_id
          WHERE l.tenant_id = $1 AND l.number > $2
            AND (e.create_time >= now() - make_interval(days => $3)
              OR e.actor_id IN (SELECT hold.user_id FROM legal_hold hold WHERE hold.tenant_id = $1))
          ORDER BY l.number LIMIT 1`,
        [tenantId, anchorNumber, days],
      );
      const through = Math.min(
        (first?.number ?? lastNumber + 1) - 1,
        anchorNumber + MAX_BATCH_COUNT,
        onlyExported ? exportedNumber : Infinity,
      );
      if (through <= anchorNumber) return 0;
      await this.database.query("SET LOCAL plinth.erasing = 'on'");
      await this.database.query(
        `DELETE FROM audit_entry e USING audit_link l
          WHERE e.tenant_id = $1 AND l.tenant_id = $1 AND l.entry_id = e.id AND l.number > $2 AND l.number <= $3`,
        [tenantId, anchorNumber, through],
      );
      await this.database.query("SET LOCAL plinth.erasing = 'off'");
      await this.database.query(
        `UPDATE audit_chain SET anchor_number = $2, anchor_digest =
                (SELECT l.digest FROM audit_link l WHERE l.tenant_id = $1 AND l.number = $2)
          WHERE tenant_id = $1`,
        [tenantId, through],
      );
      await this.database.query('DELETE FROM audit_link WHERE tenant_id = $1 AND number <= $2', [
        tenantId,
        through,
      ]);
      return through - anchorNumber;
    });
  }

  /** Tenants with linked entries that are not exported. */
  async unexported(): Promise<string[]> {
    const rows = await acrossTenants('tenants with audit entries to export', () =>
      this.database.query<{ tenantId: string }>(
        `SELECT tenant_id AS "tenantId" FROM audit_chain
          WHERE exported_number < last_number AND coalesce(lease_until, '-infinity') < now() ORDER BY tenant_id LIMIT $1`,
        [MAX_TENANT_COUNT],
      ),
    );
    return rows.map(({ tenantId }) => tenantId);
  }

  /** Takes the lease of the export and answers its position; undefined if another process has it. */
  async claimExport(tenantId: string): Promise<number | undefined> {
    const [row] = await this.database.query<{ number: number }>(
      `UPDATE audit_chain SET lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
        WHERE tenant_id = $1 AND coalesce(lease_until, '-infinity') < now()
        RETURNING greatest(exported_number, anchor_number) AS number`,
      [tenantId],
    );
    return row?.number;
  }

  /** Stores the position and renews the lease; false if another process has exported meanwhile. */
  async exported(tenantId: string, from: number, through: number): Promise<boolean> {
    const rows = await this.database.query(
      `UPDATE audit_chain SET exported_number = $3, lease_until = now() + make_interval(secs => ${LEASE_SECONDS})
        WHERE tenant_id = $1 AND greatest(exported_number, anchor_number) = $2 RETURNING tenant_id`,
      [tenantId, from, through],
    );
    return rows.length > 0;
  }

  async releaseExport(tenantId: string): Promise<void> {
    await this.database.query('UPDATE audit_chain SET lease_until = NULL WHERE tenant_id = $1', [
      tenantId,
    ]);
  }

  private async lock(tenantId: string): Promise<StoredChain> {
    await this.database.query(
      `INSERT INTO audit_chain (tenant_id, last_digest, anchor_digest) VALUES ($1, $2, $2) ON CONFLICT DO NOTHING`,
      [tenantId, GENESIS],
    );
    return this.find(tenantId, 'FOR UPDATE');
  }
}
