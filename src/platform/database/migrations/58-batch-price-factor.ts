import type { MigrationInterface, QueryRunner } from 'typeorm';

/** What a call of a batch costs, as a part of the price of any other call of the model. */
export class BatchPriceFactor1763683200058 implements MigrationInterface {
  name = 'BatchPriceFactor1763683200058';

  async up(runner: QueryRunner): Promise<void> {
    await runner.query(`
      ALTER TABLE model ADD COLUMN batch_price_factor numeric(4, 3);
      ALTER TABLE model_price ADD COLUMN batch_price_factor numeric(4, 3);
      COMMENT ON COLUMN model.batch_price_factor IS 'Null: as any other call';
    `);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(
      'ALTER TABLE model_price DROP COLUMN batch_price_factor; ALTER TABLE model DROP COLUMN batch_price_factor',
    );
  }
}
