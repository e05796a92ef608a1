import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Tool calls, approvals and consents belong to a run of the harness or to a turn of a chat. */
export class Effects2026121600001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE harness_effect
        ALTER COLUMN session_id DROP NOT NULL,
        ALTER COLUMN run_id DROP NOT NULL,
        ADD COLUMN turn_id uuid,
        ADD COLUMN message_id bigint REFERENCES chat_message (id) ON DELETE CASCADE,
        ADD COLUMN user_id bigint REFERENCES user_account (id) ON DELETE CASCADE,
        ADD CONSTRAINT harness_effect_owner CHECK (num_nonnulls(run_id, turn_id) = 1);
      CREATE UNIQUE INDEX harness_effect_turn ON harness_effect (turn_id, ordinal) WHERE turn_id IS NOT NULL;
      CREATE INDEX harness_effect_message_id_fk ON harness_effect (message_id);
      CREATE INDEX harness_effect_user_id_fk ON harness_effect (user_id);
      COMMENT ON COLUMN harness_effect.turn_id IS 'The turn of a chat; run_id is null then';
      COMMENT ON COLUMN harness_effect.message_id IS 'The stored message of the turn, with which the call is deleted';
      COMMENT ON COLUMN harness_effect.user_id IS 'The user of the turn; that of a run stands there';

      ALTER TABLE harness_approval
        ALTER COLUMN session_id DROP NOT NULL,
        ALTER COLUMN run_id DROP NOT NULL,
        ADD COLUMN turn_id uuid,
        ADD COLUMN message_id bigint REFERENCES chat_message (id) ON DELETE CASCADE,
        ADD CONSTRAINT harness_approval_owner CHECK (num_nonnulls(run_id, turn_id) = 1);
      CREATE INDEX harness_approval_turn ON harness_approval (tenant_id, turn_id) WHERE turn_id IS NOT NULL;
      CREATE INDEX harness_approval_message_id_fk ON harness_approval (message_id);

      ALTER TABLE harness_grant
        ALTER COLUMN session_id DROP NOT NULL,
        ADD COLUMN chat_session_id bigint REFERENCES chat_session (id) ON DELETE CASCADE,
        ADD CONSTRAINT harness_grant_owner CHECK (num_nonnulls(session_id, chat_session_id) = 1);
      CREATE UNIQUE INDEX harness_grant_chat ON harness_grant (chat_session_id, kind, subject_hash)
        WHERE revoked_at IS NULL AND chat_session_id IS NOT NULL;
      CREATE INDEX harness_grant_chat_session_id_fk ON harness_grant (chat_session_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DELETE FROM harness_grant WHERE session_id IS NULL;
      ALTER TABLE harness_grant DROP COLUMN chat_session_id, ALTER COLUMN session_id SET NOT NULL;
      DELETE FROM harness_approval WHERE run_id IS NULL;
      ALTER TABLE harness_approval DROP COLUMN turn_id, DROP COLUMN message_id,
        ALTER COLUMN session_id SET NOT NULL, ALTER COLUMN run_id SET NOT NULL;
      DELETE FROM harness_effect WHERE run_id IS NULL;
      ALTER TABLE harness_effect DROP COLUMN turn_id, DROP COLUMN message_id, DROP COLUMN user_id,
        ALTER COLUMN session_id SET NOT NULL, ALTER COLUMN run_id SET NOT NULL;
    `);
  }
}
