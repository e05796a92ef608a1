import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Roles that may change roles decide what people may do; now they may also see and change on which records. */
export class Administer2026121300001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = permissions || ARRAY['access:administer']
       WHERE permissions && ARRAY['system:role:edit', 'system:role:*', 'system:*:*']
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = array_remove(permissions, 'access:administer')
       WHERE 'access:administer' = ANY (permissions)
    `);
  }
}
