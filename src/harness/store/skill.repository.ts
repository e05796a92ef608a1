import { Injectable } from '@nestjs/common';
import { Database } from '../../platform/database/index.js';
import type { RunKey } from './event.repository.js';
import type { StoredSkill } from './run-skills.js';

/** What runs have kept of the skills that they began with. */
@Injectable()
export class SkillRepository {
  constructor(private readonly database: Database) {}

  /** The skills of the run in the order in which they were found. */
  async of({ tenantId, id }: RunKey): Promise<StoredSkill[]> {
    return this.database.query<StoredSkill>(
      `SELECT name, description, source, base, path, sha256, body
         FROM harness_skill WHERE tenant_id = $1 AND run_id = $2 ORDER BY position`,
      [tenantId, id],
    );
  }

  /** Keeps the skills of a run that has none yet. Call it while the run's row is locked. */
  async keep({ tenantId, id }: RunKey, skills: readonly StoredSkill[]): Promise<void> {
    await this.database.query(
      `INSERT INTO harness_skill
          (tenant_id, run_id, position, name, description, source, base, path, sha256, body)
       SELECT $1::varchar, $2::uuid, s.ordinality, s.skill ->> 'name', s.skill ->> 'description', s.skill ->> 'source',
              s.skill ->> 'base', s.skill ->> 'path', s.skill ->> 'sha256', s.skill ->> 'body'
         FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS s (skill, ordinality)`,
      [tenantId, id, JSON.stringify(skills)],
    );
  }

  /** Whether a call of the run other than this one has been answered with the body of the skill. */
  async isActive({ tenantId, id }: RunKey, name: string, toolCallId: string): Promise<boolean> {
    const rows = await this.database.query(
      `SELECT 1 FROM harness_effect
        WHERE tenant_id = $1 AND run_id = $2 AND tool_name = 'activate_skill' AND state = 'SUCCEEDED'
          AND tool_call_id <> $3 AND input ->> 'name' = $4 LIMIT 1`,
      [tenantId, id, toolCallId, name],
    );
    return rows.length > 0;
  }
}
