import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What existing front ends need: a key that signs the addresses of files, and on the record of a client what it reads of a
 * chat. The web pages of existing installations read only `content`.
 */
export class ExistingClients1763683200019 implements MigrationInterface {
  name = 'ExistingClients1763683200019';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE signing_key (
        name varchar(40) PRIMARY KEY,
        sealed text NOT NULL,
        create_time timestamptz NOT NULL DEFAULT now()
      );
      COMMENT ON COLUMN signing_key.sealed IS 'Encrypted with SECRET_KEY; encrypted again when SECRET_KEY changes';

      ALTER TABLE client
        ADD COLUMN inline_thinking boolean NOT NULL DEFAULT false,
        ADD COLUMN inline_sources boolean NOT NULL DEFAULT false,
        ADD COLUMN inline_failures boolean NOT NULL DEFAULT false;
      UPDATE client SET inline_thinking = true, inline_sources = true, inline_failures = true
       WHERE client_id IN ('e5cd7e4891bf95d1d19206ce24a7b32e', '0d4c873ff6146ecd7f38e2e45526ab1b');
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE client
        DROP COLUMN inline_thinking, DROP COLUMN inline_sources, DROP COLUMN inline_failures;
      DROP TABLE signing_key;
    `);
  }
}
