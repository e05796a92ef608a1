import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What may name a record or a subject of grants, which go with it. */
const REFERENCED = [
  ['knowledge_base', 'resource', 'knowledge'],
  ['agent', 'resource', 'agent'],
  ['model', 'resource', 'model'],
  ['user_account', 'subject', 'user'],
  ['role', 'subject', 'role'],
  ['user_group', 'subject', 'group'],
] as const;

/** Entries of roles and keys by which knowledge bases or agents can be created. */
const CREATING = String.raw`^(system:info:add|agent:agent:add|(system|agent)(:\*)+|(system:info|agent:agent)(:\*)+)$`;

/**
 * Access by grants. Existing records keep what holds today: owners manage their bases, shared bases are readable for the
 * tenant, every user may use every model and, with the permission, manage every agent.
 */
export class Grants2026113000001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      CREATE TABLE access_grant (
        tenant_id varchar(20) NOT NULL REFERENCES tenant (tenant_id) ON DELETE CASCADE,
        resource_type varchar(20) NOT NULL,
        resource_id bigint NOT NULL,
        subject varchar(40) NOT NULL,
        level smallint NOT NULL,
        create_by bigint,
        create_time timestamptz NOT NULL DEFAULT now(),
        PRIMARY KEY (tenant_id, resource_type, resource_id, subject)
      );
      CREATE INDEX access_grant_subject ON access_grant (subject, tenant_id, resource_type)
        INCLUDE (resource_id, level);
      COMMENT ON TABLE access_grant IS 'What a subject may do with a record; the only truth about it, for its owner, too';
      COMMENT ON COLUMN access_grant.subject IS 'tenant, user:ID, role:ID or group:ID';
      COMMENT ON COLUMN access_grant.level IS '1 use, 2 read, 3 write, 4 manage; each includes those before it';

      CREATE FUNCTION remove_grants() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF TG_ARGV[0] = 'resource' THEN
            DELETE FROM access_grant
             WHERE tenant_id = OLD.tenant_id AND resource_type = TG_ARGV[1] AND resource_id = OLD.id;
          ELSE
            -- A super administrator may have records in other tenants.
            DELETE FROM access_grant WHERE subject = TG_ARGV[1] || ':' || OLD.id;
          END IF;
          RETURN NULL;
        END $$;
    `);
    for (const [table, side, kind] of REFERENCED) {
      await runner.query(
        `CREATE TRIGGER ${table}_grants AFTER DELETE ON ${table}
           FOR EACH ROW EXECUTE FUNCTION remove_grants('${side}', '${kind}')`,
      );
    }
    await runner.query(`
      INSERT INTO access_grant (tenant_id, resource_type, resource_id, subject, level)
        SELECT tenant_id, 'knowledge', id, 'user:' || user_id, 4 FROM knowledge_base
         WHERE user_id IS NOT NULL AND session_id IS NULL
        UNION ALL
        SELECT tenant_id, 'knowledge', id, 'tenant', 2 FROM knowledge_base WHERE share = 1 AND session_id IS NULL
        UNION ALL
        SELECT tenant_id, 'agent', id, 'user:' || user_id, 4 FROM agent WHERE user_id IS NOT NULL
        UNION ALL
        SELECT tenant_id, 'agent', id, 'tenant', 4 FROM agent
        UNION ALL
        SELECT tenant_id, 'model', id, 'tenant', 1 FROM model;
      ALTER TABLE knowledge_base DROP COLUMN share;

      ALTER TABLE agent ADD COLUMN knowledge_as varchar(10) NOT NULL DEFAULT 'creator';
      ALTER TABLE agent ALTER COLUMN knowledge_as SET DEFAULT 'caller';
      COMMENT ON COLUMN agent.knowledge_as IS
        'By whose rights it searches its bases: caller, or creator for bases that the creator manages';
    `);
    for (const table of ['role', 'api_key']) {
      await runner.query(
        `UPDATE ${table} SET permissions = permissions || ARRAY['access:grant', 'access:publish']
          WHERE EXISTS (SELECT FROM unnest(permissions) AS one WHERE one ~ '${CREATING}')`,
      );
    }
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      UPDATE role SET permissions = array_remove(array_remove(permissions, 'access:grant'), 'access:publish');
      UPDATE api_key SET permissions = array_remove(array_remove(permissions, 'access:grant'), 'access:publish');
      ALTER TABLE agent DROP COLUMN knowledge_as;
      ALTER TABLE knowledge_base ADD COLUMN share smallint NOT NULL DEFAULT 0;
      UPDATE knowledge_base SET share = 1
       WHERE EXISTS (SELECT FROM access_grant AS g WHERE g.resource_type = 'knowledge'
                        AND g.resource_id = knowledge_base.id AND g.subject = 'tenant' AND g.level >= 2);
    `);
    for (const [table] of REFERENCED)
      await runner.query(`DROP TRIGGER ${table}_grants ON ${table}`);
    await runner.query('DROP FUNCTION remove_grants(); DROP TABLE access_grant');
  }
}
