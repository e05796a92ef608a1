import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Roles that may do something with roles may do the same with groups. */
export class GroupPermissions2026112900002 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = permissions || ARRAY(
        SELECT 'system:group:' || action
          FROM unnest(ARRAY['list', 'query', 'add', 'edit', 'remove']) WITH ORDINALITY AS one (action, place)
         WHERE permissions && ARRAY['system:role:' || action, 'system:role:*']
         ORDER BY place)
       WHERE permissions && ARRAY[
         'system:role:*', 'system:role:list', 'system:role:query', 'system:role:add', 'system:role:edit', 'system:role:remove']
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = ARRAY(
        SELECT permission FROM unnest(permissions) WITH ORDINALITY AS one (permission, place)
         WHERE permission NOT LIKE 'system:group:%' ORDER BY place)
       WHERE array_to_string(permissions, ' ') LIKE '%system:group:%'
    `);
  }
}
