import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The vectors of the exact store. */
export class ExactVectors1763683200008 implements MigrationInterface {
  name = 'ExactVectors1763683200008';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE fragment_vector (
        knowledge_id bigint NOT NULL REFERENCES knowledge_base (id) ON DELETE CASCADE,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        fragment_id bigint NOT NULL,
        attachment_id bigint NOT NULL REFERENCES attachment (id) ON DELETE CASCADE,
        dimension integer NOT NULL,
        stamp bigint NOT NULL,
        vector bytea NOT NULL,
        -- With what is added, the check whether a base has changed reads the index alone.
        PRIMARY KEY (knowledge_id, tenant_id, fragment_id) INCLUDE (dimension, stamp)
      );
      CREATE INDEX fragment_vector_attachment ON fragment_vector (attachment_id);
      -- Numbers like these do not get smaller.
      ALTER TABLE fragment_vector ALTER COLUMN vector SET STORAGE EXTERNAL;
      COMMENT ON COLUMN fragment_vector.vector IS 'Little-endian 32-bit floats';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    // The pgvector store makes its table itself, where the extension is.
    await runner.query('DROP TABLE IF EXISTS fragment_pgvector');
    await runner.query('DROP TABLE fragment_vector');
  }
}
