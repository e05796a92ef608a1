import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Events of responses in the background, so that clients can read them again. */
export class ResponseEvents1763683200061 implements MigrationInterface {
  name = 'ResponseEvents1763683200061';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE stored_response_event (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        user_id bigint NOT NULL,
        response_id varchar(100) NOT NULL,
        sequence integer NOT NULL,
        frame text NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, user_id, response_id, sequence),
        FOREIGN KEY (tenant_id, user_id, response_id) REFERENCES stored_response (tenant_id, user_id, id) ON DELETE CASCADE
      );
      CREATE INDEX stored_response_event_age ON stored_response_event (create_time);
      COMMENT ON COLUMN stored_response_event.sequence IS 'From 0, without gaps';
      COMMENT ON COLUMN stored_response_event.frame IS 'As it is sent; the last event of a response is made from its row';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE stored_response_event');
  }
}
