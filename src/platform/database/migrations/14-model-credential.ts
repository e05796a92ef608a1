import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * Gives the administrator role of every tenant `system:model:credential`, as a new tenant's has it. A user who could edit a
 * model could send its stored key to another address; from now on that is a permission of its own.
 */
export class ModelCredential1763683200014 implements MigrationInterface {
  name = 'ModelCredential1763683200014';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = array_append(permissions, 'system:model:credential')
       WHERE role_key = 'admin' AND NOT 'system:model:credential' = ANY (permissions);
      -- What is cached for a revision includes the permissions of its users.
      UPDATE tenant SET revision = revision + 1;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = array_remove(permissions, 'system:model:credential')
       WHERE 'system:model:credential' = ANY (permissions);
      UPDATE tenant SET revision = revision + 1;
    `);
  }
}
