import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The language of a knowledge base, and those of the documents in the keyword index. */
export class KnowledgeLanguage1763683200025 implements MigrationInterface {
  name = 'KnowledgeLanguage1763683200025';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base ADD COLUMN language varchar(20) NOT NULL DEFAULT 'auto';
      COMMENT ON COLUMN knowledge_base.language IS
        'The text search configuration that stems the words of its documents; auto: recognised';
      ALTER TABLE keyword_document ADD COLUMN languages text[];
      COMMENT ON COLUMN keyword_document.languages IS
        'At least those of its fragments; null until a document that is older is parsed again';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE keyword_document DROP COLUMN languages;
      ALTER TABLE knowledge_base DROP COLUMN language;
    `);
  }
}
