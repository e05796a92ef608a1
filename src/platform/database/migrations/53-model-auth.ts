import type { MigrationInterface, QueryRunner } from 'typeorm';

/** How a model's calls identify themselves: so far by the key, as the protocol sends it. */
export class ModelAuth1763683200053 implements MigrationInterface {
  name = 'ModelAuth1763683200053';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      "ALTER TABLE model ADD COLUMN auth_type varchar(20) NOT NULL DEFAULT 'bearer'",
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE model DROP COLUMN auth_type');
  }
}
