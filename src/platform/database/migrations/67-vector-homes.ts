import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The store that holds the vectors of each knowledge base, which another QDRANT_URL does not change. */
export class VectorHomes1763683200067 implements MigrationInterface {
  name = 'VectorHomes1763683200067';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base ADD COLUMN vector_store varchar(20);
      COMMENT ON COLUMN knowledge_base.vector_store IS
        'Code of the vector store that holds the vectors of its fragments; NULL before the first ones, and where it was not looked for yet';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE knowledge_base DROP COLUMN vector_store');
  }
}
