import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Whether the last sign-in of a person missed groups that the provider did not list. */
export class GroupsOverage1763683200056 implements MigrationInterface {
  name = 'GroupsOverage1763683200056';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE sso_identity ADD COLUMN groups_overage boolean NOT NULL DEFAULT false',
    );
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query('ALTER TABLE sso_identity DROP COLUMN groups_overage');
  }
}
