import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * New knowledge bases start with hybrid search and a threshold that fits common embedding models
 * (docs/decisions/0020-fusion-depth-and-defaults.md). Existing ones keep their settings.
 */
export class KnowledgeDefaults1763683200026 implements MigrationInterface {
  name = 'KnowledgeDefaults1763683200026';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base ALTER COLUMN enable_hybrid SET DEFAULT 1;
      ALTER TABLE knowledge_base ALTER COLUMN similarity_threshold SET DEFAULT 0.2;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base ALTER COLUMN similarity_threshold SET DEFAULT 0.5;
      ALTER TABLE knowledge_base ALTER COLUMN enable_hybrid SET DEFAULT 0;
    `);
  }
}
