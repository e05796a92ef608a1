import type { MigrationInterface, QueryRunner } from 'typeorm';

/** The lists that have an export, by the prefix of their permissions. */
const EXPORTED = [
  'system:tenant',
  'system:client',
  'system:user',
  'system:role',
  'system:dict',
  'system:provider',
  'system:model',
  'system:session',
  'system:message',
  'system:info',
  'system:attach',
  'system:fragment',
  'agent:agent',
  'monitor:audit',
  'monitor:operlog',
  'monitor:logininfor',
];

/**
 * Lets each role export the lists that it may read: an export shows the rows of the list and no more, and roles from before
 * the exports could not. When the migration is reverted, only the permissions that the earlier release does not know are
 * taken away, because the others cannot be told from those that people gave.
 */
export class ExportPermissions1763683200024 implements MigrationInterface {
  name = 'ExportPermissions1763683200024';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `UPDATE role SET permissions = permissions ||
           ARRAY(SELECT list || ':export' FROM unnest($1::text[]) list
                  WHERE list || ':list' = ANY (permissions)
                    AND NOT list || ':export' = ANY (permissions))
        WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) list
                       WHERE list || ':list' = ANY (permissions)
                         AND NOT list || ':export' = ANY (permissions))`,
      [EXPORTED],
    );
    // What is cached for a revision includes the permissions of its users.
    await runner.query('UPDATE tenant SET revision = revision + 1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions =
          array_remove(array_remove(permissions, 'monitor:operlog:export'), 'monitor:logininfor:export')
       WHERE permissions && ARRAY['monitor:operlog:export', 'monitor:logininfor:export'];
      UPDATE tenant SET revision = revision + 1;
    `);
  }
}
