import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Text recognition and context of fragments: the settings of bases, the pages and tokens of a document, and what models have answered so far. */
export class KnowledgeOcr1763683200029 implements MigrationInterface {
  name = 'KnowledgeOcr1763683200029';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE knowledge_base
        ADD COLUMN enable_ocr smallint NOT NULL DEFAULT 0,
        ADD COLUMN ocr_model varchar(200),
        ADD COLUMN context_model varchar(200);
      ALTER TABLE fragment ADD COLUMN context text;
      ALTER TABLE attachment
        ADD COLUMN ocr_done integer NOT NULL DEFAULT 0,
        ADD COLUMN ocr_total integer,
        ADD COLUMN context_done integer NOT NULL DEFAULT 0,
        ADD COLUMN input_tokens bigint NOT NULL DEFAULT 0,
        ADD COLUMN output_tokens bigint NOT NULL DEFAULT 0;

      -- What models have answered for a document whose parsing has not ended: they are not asked for it again.
      CREATE TABLE model_answer (
        attachment_id bigint NOT NULL REFERENCES attachment (id) ON DELETE CASCADE,
        digest char(64) NOT NULL,
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        text text NOT NULL,
        input_tokens bigint NOT NULL,
        output_tokens bigint NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (attachment_id, digest)
      );
      CREATE INDEX model_answer_tenant ON model_answer (tenant_id);
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      DROP TABLE model_answer;
      ALTER TABLE attachment
        DROP COLUMN ocr_done,
        DROP COLUMN ocr_total,
        DROP COLUMN context_done,
        DROP COLUMN input_tokens,
        DROP COLUMN output_tokens;
      ALTER TABLE fragment DROP COLUMN context;
      ALTER TABLE knowledge_base
        DROP COLUMN enable_ocr,
        DROP COLUMN ocr_model,
        DROP COLUMN context_model;
    `);
  }
}
