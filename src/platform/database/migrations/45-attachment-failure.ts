import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Why a document failed gets its own column, so that a remark outlives parsing. */
export class AttachmentFailure1763683200045 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE attachment ADD COLUMN failure varchar(500)');
    await runner.query('UPDATE attachment SET failure = remark, remark = NULL WHERE status = 3');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('UPDATE attachment SET remark = failure WHERE status = 3');
    await runner.query('ALTER TABLE attachment DROP COLUMN failure');
  }
}
