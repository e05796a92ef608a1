import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * How an agent answers, and the steps of an answer with tools. A step belongs to its answer, whose row is stored with the first
 * step, so that it is deleted with it.
 */
export class AgentRuntime1763683200020 implements MigrationInterface {
  name = 'AgentRuntime1763683200020';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent
        ADD COLUMN runtime varchar(20) NOT NULL DEFAULT 'direct',
        ADD COLUMN tools jsonb NOT NULL DEFAULT '[]',
        ADD COLUMN use_skills boolean NOT NULL DEFAULT false,
        ADD COLUMN max_steps integer;

      CREATE TABLE chat_step (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        message_id bigint NOT NULL REFERENCES chat_message (id) ON DELETE CASCADE,
        number integer NOT NULL,
        text text NOT NULL,
        reasoning text,
        calls jsonb NOT NULL,
        input_tokens integer,
        output_tokens integer,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, message_id, number)
      );
      CREATE INDEX chat_step_message_id_fk ON chat_step (message_id);
      COMMENT ON TABLE chat_step IS 'The answers of a model that call tools, of one answer of an agent';
      COMMENT ON COLUMN chat_step.calls IS 'The tool calls with their results; state running until a call has ended';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE chat_step;
      ALTER TABLE agent
        DROP COLUMN runtime, DROP COLUMN tools, DROP COLUMN use_skills, DROP COLUMN max_steps;
    `);
  }
}
