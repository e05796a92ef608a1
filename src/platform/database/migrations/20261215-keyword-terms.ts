import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Finds a term in the few blocks of a base that have it; looking into each of a thousand blocks took most of a search. */
export class KeywordTerms2026121500001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query('CREATE INDEX keyword_posting_term ON keyword_posting (knowledge_id, term)');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP INDEX keyword_posting_term');
  }
}
