import type { MigrationInterface, QueryRunner } from 'typeorm';

/** Answers in a given form: the form that an agent asks for, and whether an answer was checked against one. */
export class ResponseFormat1763683200023 implements MigrationInterface {
  name = 'ResponseFormat1763683200023';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE agent ADD COLUMN response_format json;
      COMMENT ON COLUMN agent.response_format IS
        'As json, which keeps the order of the properties: models write them in it';
      ALTER TABLE chat_message ADD COLUMN structured boolean NOT NULL DEFAULT false;
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE chat_message DROP COLUMN structured;
      ALTER TABLE agent DROP COLUMN response_format;
    `);
  }
}
