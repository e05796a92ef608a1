import type { MigrationInterface, QueryRunner } from 'typeorm';

/** A document that waits for something that is away does so for an hour, whenever its turn came. */
export class AwaitedSince1763683200048 implements MigrationInterface {
  name = 'AwaitedSince1763683200048';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE attachment ADD COLUMN awaited_since timestamptz');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE attachment DROP COLUMN awaited_since');
  }
}
