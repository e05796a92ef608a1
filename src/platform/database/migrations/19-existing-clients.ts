import type { MigrationInterface, QueryRunner } from 'typeorm';

/**
 * What existing front ends need: a key that signs the addresses of files, on the record of a client what it reads of a
 * chat (web pages read only `content`), the permissions of two log pages, and the dictionaries of the system pages. They stay
 * when the migration is reverted, because they cannot be told from those that people made.
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

      -- As the administrator role of a new tenant has them.
      UPDATE role SET permissions = permissions ||
          ARRAY(SELECT added FROM unnest(ARRAY['monitor:operlog:list', 'monitor:logininfor:list']) added
                 WHERE NOT added = ANY (permissions))
       WHERE role_key = 'admin';
      -- What is cached for a revision includes the permissions of its users.
      UPDATE tenant SET revision = revision + 1;
    `);
    // As dictionary.seed.ts gives them to a new tenant.
    await runner.query(`
      INSERT INTO dictionary_type (tenant_id, dict_name, dict_type)
      SELECT t.tenant_id, added.name, added.type
        FROM tenant t
       CROSS JOIN (VALUES
          ('Grant types', 'sys_grant_type'),
          ('Device types', 'sys_device_type'),
          ('Sex', 'sys_user_sex'),
          ('Enabled or disabled', 'sys_normal_disable'),
          ('Done or failed', 'sys_common_status'),
          ('Operation types', 'sys_oper_type')
        ) AS added (name, type)
          ON CONFLICT DO NOTHING;
      INSERT INTO dictionary_entry
        (tenant_id, dict_type, dict_value, dict_label, dict_sort, list_class, seeded)
      SELECT t.tenant_id, added.type, added.value, added.label, added.sort, added.class, true
        FROM tenant t
       CROSS JOIN (VALUES
          ('sys_grant_type', 'password', 'Password', 1, 'default'),
          ('sys_grant_type', 'sms', 'Text message', 2, 'default'),
          ('sys_grant_type', 'email', 'E-mail', 3, 'default'),
          ('sys_grant_type', 'social', 'Social account', 4, 'default'),
          ('sys_grant_type', 'xcx', 'Mini program', 5, 'default'),
          ('sys_device_type', 'pc', 'PC', 1, 'default'),
          ('sys_device_type', 'android', 'Android', 2, 'default'),
          ('sys_device_type', 'ios', 'iOS', 3, 'default'),
          ('sys_device_type', 'xcx', 'Mini program', 4, 'default'),
          ('sys_user_sex', '0', 'Male', 1, NULL),
          ('sys_user_sex', '1', 'Female', 2, NULL),
          ('sys_user_sex', '2', 'Not specified', 3, NULL),
          ('sys_normal_disable', '0', 'Enabled', 1, 'primary'),
          ('sys_normal_disable', '1', 'Disabled', 2, 'danger'),
          ('sys_common_status', '0', 'Done', 1, 'primary'),
          ('sys_common_status', '1', 'Failed', 2, 'danger'),
          ('sys_oper_type', '1', 'Create', 1, 'info'),
          ('sys_oper_type', '2', 'Change', 2, 'info'),
          ('sys_oper_type', '3', 'Delete', 3, 'danger'),
          ('sys_oper_type', '4', 'Permissions', 4, 'primary'),
          ('sys_oper_type', '7', 'End of a sign-in', 5, 'danger'),
          ('sys_oper_type', '0', 'Other', 6, 'default')
        ) AS added (type, value, label, sort, class)
          ON CONFLICT DO NOTHING;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions =
          array_remove(array_remove(permissions, 'monitor:operlog:list'), 'monitor:logininfor:list')
       WHERE permissions && ARRAY['monitor:operlog:list', 'monitor:logininfor:list'];
      UPDATE tenant SET revision = revision + 1;
      ALTER TABLE client
        DROP COLUMN inline_thinking, DROP COLUMN inline_sources, DROP COLUMN inline_failures;
      DROP TABLE signing_key;
    `);
  }
}
