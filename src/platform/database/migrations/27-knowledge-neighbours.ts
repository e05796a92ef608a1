import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Which fragments are sent to a model around those that were found. Bases from before send none. */
export class KnowledgeNeighbours1763683200027 implements MigrationInterface {
  name = 'KnowledgeNeighbours1763683200027';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base
        ADD COLUMN neighbours varchar(20) NOT NULL DEFAULT 'none',
        ADD COLUMN neighbour_characters integer NOT NULL DEFAULT 2000;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE knowledge_base DROP COLUMN neighbours, DROP COLUMN neighbour_characters',
    );
  }
}
