import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * One table for the frames of all resumable streams: of responses in the background and of detached chat turns. The release
 * before writes to stored_response_event, which stays, empty, until no release in use reads it.
 */
export class Streams2026122700001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE stream_frame (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        user_id bigint NOT NULL,
        stream_id varchar(100) NOT NULL,
        sequence integer NOT NULL,
        frame text NOT NULL,
        response_id varchar(100),
        message_id bigint REFERENCES chat_message (id) ON DELETE CASCADE,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, user_id, stream_id, sequence),
        FOREIGN KEY (tenant_id, user_id, response_id) REFERENCES stored_response (tenant_id, user_id, id) ON DELETE CASCADE,
        CHECK (num_nonnulls(response_id, message_id) = 1)
      );
      CREATE INDEX stream_frame_message_id_fk ON stream_frame (message_id);
      CREATE INDEX stream_frame_begin ON stream_frame (create_time) WHERE sequence = 0;
      COMMENT ON COLUMN stream_frame.sequence IS 'From 0; increasing';
      COMMENT ON COLUMN stream_frame.frame IS 'As it is sent; the end of a stream is made from the row of what it answers';

      INSERT INTO stream_frame (tenant_id, user_id, stream_id, sequence, frame, response_id, create_time)
      SELECT tenant_id, user_id, response_id, sequence, frame, response_id, create_time FROM stored_response_event;
      DELETE FROM stored_response_event;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      INSERT INTO stored_response_event (tenant_id, user_id, response_id, sequence, frame, create_time)
      SELECT tenant_id, user_id, response_id, sequence, frame, create_time FROM stream_frame WHERE response_id IS NOT NULL;
      DROP TABLE stream_frame;
    `);
  }
}
