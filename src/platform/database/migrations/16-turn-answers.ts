import type { MigrationInterface, QueryRunner } from 'typeorm';
import { acrossTenants } from '../tenant-binding.js';

/**
 * One answer for each turn, which is stored while it is written; the leases of turns without a session. Every turn writes
 * and deletes a lease, so its table has one index, by which each row is found alone: an index of the tenant would lead
 * through the dead rows of all its turns. The sweep removes the lease of a question that was deleted.
 */
export class TurnAnswers1763683200016 implements MigrationInterface {
  name = 'TurnAnswers1763683200016';

  async up(runner: QueryRunner): Promise<void> {
    // Of an answer that was stored twice every text stays; the finished and last one is that of the turn.
    await acrossTenants('answers that were stored twice', () =>
      runner.query(`
        UPDATE chat_message message SET turn_id = NULL
          FROM (
            SELECT tenant_id, id, row_number() OVER (
                PARTITION BY tenant_id, turn_id ORDER BY duration_ms IS NULL, id DESC
              ) AS place
            FROM chat_message WHERE role = 'assistant' AND turn_id IS NOT NULL
          ) ranked
          WHERE message.tenant_id = ranked.tenant_id AND message.id = ranked.id AND ranked.place > 1`),
    );
    await runner.query(`
      CREATE UNIQUE INDEX chat_message_answer ON chat_message (tenant_id, turn_id)
        WHERE role = 'assistant' AND turn_id IS NOT NULL;
      COMMENT ON COLUMN chat_message.state IS 'complete, stopped or failed; writing until the answer has ended';

      CREATE TABLE chat_turn_lease (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        question_id bigint NOT NULL,
        lease timestamptz NOT NULL,
        PRIMARY KEY (tenant_id, question_id)
      );
      COMMENT ON TABLE chat_turn_lease IS 'Running turns without a session; those in a session have their lease there';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE chat_turn_lease;
      COMMENT ON COLUMN chat_message.state IS 'complete, stopped or failed';
      DROP INDEX chat_message_answer;
    `);
  }
}
