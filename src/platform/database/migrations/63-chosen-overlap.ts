import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether the overlap of a knowledge base was chosen. One that differs from the default of its block size was. */
export class ChosenOverlap1763683200063 implements MigrationInterface {
  name = 'ChosenOverlap1763683200063';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE knowledge_base ADD COLUMN overlap_chosen boolean NOT NULL DEFAULT false',
    );
    await runner.query(
      `UPDATE knowledge_base SET overlap_chosen = true
        WHERE overlap_char <> greatest(0, least(50, text_block_size / 2))`,
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE knowledge_base DROP COLUMN overlap_chosen');
  }
}
