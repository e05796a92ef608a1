import { Injectable } from '@nestjs/common';
import { requireSuperAdmin } from '../../platform/access/index.js';
import type { Caller } from '../../platform/access/index.js';
import { AuditLog } from '../../platform/audit/index.js';
import { Database } from '../../platform/database/index.js';

const WRITES = 'writes';
/** How long a process may not know that another one has switched. */
const FRESH_MS = 1_000;

/** What an operator can switch off for the whole installation; the switches belong to no tenant. */
@Injectable()
export class HarnessSwitches {
  private known: { readonly enabled: boolean; readonly until: number } | undefined;

  constructor(
    private readonly database: Database,
    private readonly audit: AuditLog,
  ) {}

  /** Whether runs may change anything; at most a second old. */
  async writesEnabled(): Promise<boolean> {
    const now = performance.now();
    if (this.known && now < this.known.until) return this.known.enabled;
    const [row] = await this.database.query<{ enabled: boolean }>(
      'SELECT enabled FROM harness_switch WHERE name = $1',
      [WRITES],
    );
    const enabled = row?.enabled ?? true;
    this.known = { enabled, until: now + FRESH_MS };
    return enabled;
  }

  /** Stops or allows writes. Tool calls that have begun end; new ones are refused within a second. */
  async setWrites(caller: Caller, enabled: boolean): Promise<void> {
    requireSuperAdmin(caller);
    await this.database.transaction(async () => {
      await this.database.query(
        `INSERT INTO harness_switch (name, enabled, changed_by) VALUES ($1, $2, $3)
          ON CONFLICT (name) DO UPDATE SET enabled = $2, changed_by = $3, update_time = now()`,
        [WRITES, enabled, caller.userId],
      );
      const entry = { target: 'harness_switch', id: WRITES, detail: { enabled } };
      await this.audit.record(caller, { action: 'status-change', ...entry });
    });
    this.known = undefined;
  }
}
