import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Columns of texts that people read, which become messages: a template and its values. */
const COLUMNS = [
  ['chat_message', 'error', 500],
  ['attachment', 'failure', 500],
  ['attachment', 'waiting_for', 200],
  ['harness_run', 'error_message', 2_000],
] as const;

/** A stored text as a message that is the same in every language. */
const literal = (text: string): string =>
  `jsonb_build_object('template', '{0}', 'values', jsonb_build_array(${text}))`;

/** The English text of a message, in whose values are messages, too. */
const ENGLISH = `
  CREATE FUNCTION pg_temp.english(message jsonb) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE english text := message ->> 'template'; value jsonb; place integer := 0;
    BEGIN
      FOR value IN SELECT jsonb_array_elements(message -> 'values') LOOP
        english := replace(english, '{' || place || '}', CASE jsonb_typeof(value)
          WHEN 'object' THEN pg_temp.english(value) ELSE value #>> '{}' END);
        place := place + 1;
      END LOOP;
      RETURN english;
    END $$;
`;

/** Messages keep their template and values, so that each reader gets them in their own language. */
export class Messages2026112800001 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    for (const [table, column] of COLUMNS) {
      await runner.query(
        `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE jsonb
           USING CASE WHEN ${column} IS NOT NULL THEN ${literal(column)} END`,
      );
    }
    await runner.query(`
      UPDATE chat_message SET files = (
        SELECT jsonb_agg(CASE WHEN jsonb_typeof(file -> 'reason') = 'string'
                 THEN jsonb_set(file, '{reason}', ${literal("file -> 'reason'")}) ELSE file END ORDER BY at)
          FROM jsonb_array_elements(files) WITH ORDINALITY AS one (file, at))
       WHERE files @? '$[*].reason';
      UPDATE harness_approval SET notes = (
        SELECT jsonb_agg(${literal('note')} ORDER BY at)
          FROM jsonb_array_elements(notes) WITH ORDINALITY AS one (note, at))
       WHERE notes <> '[]';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(ENGLISH);
    for (const [table, column, length] of COLUMNS) {
      await runner.query(
        `ALTER TABLE ${table} ALTER COLUMN ${column} TYPE varchar(${length})
           USING left(pg_temp.english(${column}), ${length})`,
      );
    }
    await runner.query(`
      UPDATE chat_message SET files = (
        SELECT jsonb_agg(CASE WHEN jsonb_typeof(file -> 'reason') = 'object'
                 THEN jsonb_set(file, '{reason}', to_jsonb(pg_temp.english(file -> 'reason'))) ELSE file END ORDER BY at)
          FROM jsonb_array_elements(files) WITH ORDINALITY AS one (file, at))
       WHERE files @? '$[*].reason';
      UPDATE harness_approval SET notes = (
        SELECT jsonb_agg(pg_temp.english(note) ORDER BY at)
          FROM jsonb_array_elements(notes) WITH ORDINALITY AS one (note, at))
       WHERE notes <> '[]';
    `);
  }
}
