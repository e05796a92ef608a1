import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What existing front ends need: a key that signs the addresses of files. */
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
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('DROP TABLE signing_key');
  }
}
