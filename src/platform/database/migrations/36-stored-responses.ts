import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Answers of POST /v1/responses, which later requests continue by their ids. */
export class StoredResponses1763683200036 implements MigrationInterface {
  name = 'StoredResponses1763683200036';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE stored_response (
        id char(37) PRIMARY KEY,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        user_id bigint NOT NULL REFERENCES user_account (id) ON DELETE CASCADE,
        api_key_id bigint,
        model_name varchar(200) NOT NULL,
        previous_id char(37),
        conversation_id char(37) NOT NULL,
        input json NOT NULL,
        response json NOT NULL,
        size integer NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        last_used_time timestamptz NOT NULL DEFAULT now()
      );
      CREATE INDEX stored_response_tenant ON stored_response (tenant_id, conversation_id);
      CREATE INDEX stored_response_user ON stored_response (user_id);
      CREATE INDEX stored_response_use ON stored_response (last_used_time);
      COMMENT ON COLUMN stored_response.api_key_id IS 'The key it was made with; it may be gone';
      COMMENT ON COLUMN stored_response.previous_id IS 'The response that it continues; it may have been deleted';
      COMMENT ON COLUMN stored_response.conversation_id IS 'The first response of its conversation';
      COMMENT ON COLUMN stored_response.size IS 'Bytes of input and response';
      COMMENT ON COLUMN stored_response.last_used_time IS 'When its conversation was last continued';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE stored_response');
  }
}
