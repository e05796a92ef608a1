import { Injectable } from '@nestjs/common';
import { Database, isUniqueViolation } from '../../platform/database/index.js';
import type { RunKey } from './event.repository.js';
import type { StoredSkill } from './run-skills.js';

export interface StoredSkills {
  readonly skills: readonly StoredSkill[];
  /** Whether the event that tells of them is stored, too. */
  readonly isTold: boolean;
}

/** What runs have kept of the skills that they began with. */
@Injectable()
export class SkillRepository {
  constructor(private readonly database: Database) {}

  /** The skills of the run in the order in which they were found. */
  async of({ tenantId, id }: RunKey): Promise<StoredSkills> {
    const rows = await this.database.query<StoredSkill & { isTold: boolean }>(
      `SELECT name, description, source, base, path, sha256, body,
              EXISTS (SELECT 1 FROM harness_event e
                       WHERE e.tenant_id = $1 AND e.run_id = $2 AND e.type = 'skills.loaded') AS "isTold"
         FROM harness_skill WHERE tenant_id = $1 AND run_id = $2 ORDER BY position`,
      [tenantId, id],
    );
    return { skills: rows, isTold: rows[0]?.isTold ?? false };
  }

  /** Keeps the skills, all or none: none when the run has some already. Call it outside of transactions. */
  async keep({ tenantId, id }: RunKey, skills: readonly StoredSkill[]): Promise<void> {
    try {
      await this.database.query(
        `INSERT INTO harness_skill
            (tenant_id, run_id, position, name, description, source, base, path, sha256, body)
         SELECT $1::varchar, $2::uuid, s.ordinality, s.skill ->> 'name', s.skill ->> 'description', s.skill ->> 'source',
                s.skill ->> 'base', s.skill ->> 'path', s.skill ->> 'sha256', s.skill ->> 'body'
           FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS s (skill, ordinality)
          WHERE NOT EXISTS (SELECT 1 FROM harness_skill WHERE tenant_id = $1 AND run_id = $2)`,
        [tenantId, id, JSON.stringify(skills)],
      );
    } catch (error) {
      // Another process was faster, such as an owner that has lost the run and does not know it yet.
      if (!isUniqueViolation(error)) throw error;
    }
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
