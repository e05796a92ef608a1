import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What the role of ordinary users had when its tenant was made by an earlier release. */
const EARLIER = [
  'system:session:list',
  'system:session:query',
  'system:session:add',
  'system:session:edit',
  'system:session:remove',
  'system:session:export',
  'system:message:list',
  'system:message:query',
  'system:message:remove',
  'system:message:export',
  'system:model:list',
  'system:model:export',
  'system:info:list',
  'system:info:query',
  'system:info:export',
  'coding:harness:use',
  'coding:harness:write',
  'coding:harness:approve',
];

/** To send files in the chat, and to open the documents that an answer quotes. */
const FOR_THE_CHAT = [
  'system:attach:list',
  'system:attach:query',
  'system:attach:export',
  'system:fragment:list',
  'system:fragment:query',
  'system:fragment:export',
  'system:oss:upload',
];

/** The use of the chat, and that of models with its costs. */
const USE = ['monitor:use:query', 'monitor:usage:query', 'monitor:usage:export'];

/**
 * Gives the roles of tenants of earlier releases what those of new tenants have: the role of ordinary users that was never
 * changed can send files and open sources, and roles that read the audit log see what is used.
 */
export class SeededRoles1763683200039 implements MigrationInterface {
  name = 'SeededRoles1763683200039';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(
      `UPDATE role SET permissions = permissions || $2::text[]
        WHERE role_key = 'user' AND permissions @> $1::text[] AND permissions <@ $1::text[]`,
      [EARLIER, FOR_THE_CHAT],
    );
    await runner.query(
      `UPDATE role SET permissions = permissions ||
           ARRAY(SELECT one FROM unnest($1::text[]) one WHERE NOT one = ANY (permissions))
        WHERE 'monitor:audit:list' = ANY (permissions) AND NOT permissions @> $1::text[]`,
      [USE],
    );
    // What is cached for a revision includes the permissions of its users.
    await runner.query('UPDATE tenant SET revision = revision + 1');
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      `UPDATE role SET permissions = $1::text[]
        WHERE role_key = 'user' AND permissions @> ($1::text[] || $2::text[])
          AND permissions <@ ($1::text[] || $2::text[])`,
      [EARLIER, FOR_THE_CHAT],
    );
    // An earlier release refuses a role with a permission that it does not know.
    await runner.query(
      `UPDATE role SET permissions =
           ARRAY(SELECT one FROM unnest(permissions) one WHERE NOT one = ANY ($1::text[]))
        WHERE permissions && $1::text[]`,
      [USE],
    );
    await runner.query('UPDATE tenant SET revision = revision + 1');
  }
}
