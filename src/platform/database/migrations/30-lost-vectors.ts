import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Vectors that are missing in their store: which knowledge bases are incomplete, and which documents are embedded again. */
export class LostVectors1763683200030 implements MigrationInterface {
  name = 'LostVectors1763683200030';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base ADD COLUMN vectors_lost_at timestamptz;
      COMMENT ON COLUMN knowledge_base.vectors_lost_at IS
        'Since when vectors of its fragments are known to be missing; null when none is';

      ALTER TABLE attachment ADD COLUMN vectors_only boolean NOT NULL DEFAULT false;
      COMMENT ON COLUMN attachment.vectors_only IS
        'Its vectors were lost: the requested parsing makes them again and keeps the fragments';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE attachment DROP COLUMN vectors_only;
      ALTER TABLE knowledge_base DROP COLUMN vectors_lost_at;
    `);
  }
}
