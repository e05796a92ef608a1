import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * The foreign keys without an index, by table. PostgreSQL looks up the rows that refer to a deleted one by the key alone, so
 * an index that begins with the tenant serves only the key of the tenant.
 */
const COLUMNS: Readonly<Record<string, readonly string[]>> = {
  agent: ['user_id'],
  attachment: ['user_id'],
  chat_session: ['user_id'],
  embedded_batch: ['tenant_id'],
  fragment: ['knowledge_id'],
  fragment_vector: ['tenant_id'],
  harness_approval: ['run_id'],
  harness_artifact: ['run_id'],
  harness_effect: ['tenant_id'],
  harness_event: ['tenant_id'],
  harness_file_change: ['run_id'],
  harness_grant: ['session_id'],
  harness_input: ['tenant_id'],
  harness_message: ['run_id'],
  harness_model_call: ['run_id'],
  harness_skill: ['tenant_id'],
  keyword_block: ['knowledge_id'],
  keyword_document: ['tenant_id'],
  knowledge_base: ['user_id'],
  knowledge_evaluation: ['knowledge_id', 'user_id'],
  knowledge_test_query: ['knowledge_id'],
  login_session: ['acting_tenant_id', 'client_id', 'user_id'],
  provider: ['tenant_id'],
  stored_file: ['user_id'],
  user_account: ['tenant_id'],
  user_role: ['tenant_id'],
};

const INDEXES = Object.entries(COLUMNS).flatMap(([table, columns]) =>
  columns.map((column) => ({ name: `${table}_${column}_fk`, table, column })),
);

export class ForeignKeyIndexes1763683200017 implements MigrationInterface {
  name = 'ForeignKeyIndexes1763683200017';

  async up(runner: QueryRunner): Promise<void> {
    for (const { name, table, column } of INDEXES) {
      await runner.query(`CREATE INDEX ${name} ON ${table} (${column})`);
    }
    // Every turn pays for each index of the messages, so that of a session is in their order, too. With the id at its end no
    // index is a wrong choice for the statements that a connection plans once, when the table may still be empty.
    await runner.query(`
      DROP INDEX chat_message_session;
      CREATE INDEX chat_message_session ON chat_message (session_id, id);
      CREATE INDEX chat_message_user_id_fk ON chat_message (user_id, id)`);
    // The pgvector store makes its table itself, with this index; an older one lacks it.
    await runner.query(`
      DO $$ BEGIN
        IF to_regclass('fragment_pgvector') IS NOT NULL THEN
          CREATE INDEX IF NOT EXISTS fragment_pgvector_tenant ON fragment_pgvector (tenant_id);
        END IF;
      END $$`);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP INDEX chat_message_session, chat_message_user_id_fk;
      CREATE INDEX chat_message_session ON chat_message (tenant_id, session_id, id)`);
    await runner.query(`DROP INDEX ${INDEXES.map(({ name }) => name).join(', ')}`);
  }
}
