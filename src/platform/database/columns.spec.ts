import { expect, it } from '@jest/globals';
import { Entity } from 'typeorm';
import {
  Bigint,
  columnsOf,
  Flag,
  insertionOf,
  nullable,
  primary,
  UpdateTime,
  Varchar,
} from './columns.js';

@Entity({ name: 'switch' })
class Switch {
  @Varchar(40, primary) name: string;
  @Flag() enabled: boolean;
  @Bigint(nullable) changedBy: number | null;
  @UpdateTime() updateTime: Date;
}

it('columnsOf names each column of an entity after its property', () => {
  expect(columnsOf(Switch)).toBe(
    'name AS "name", enabled AS "enabled", changed_by AS "changedBy", update_time AS "updateTime"',
  );
  expect(columnsOf(Switch, 's')).toMatch(/^s\.name AS "name", s\.enabled/);
});

it('insertionOf puts each field of a record into its column', () => {
  expect(insertionOf({ tenantId: '000000', changedBy: null })).toEqual({
    fields: '(tenant_id, changed_by) VALUES ($1, $2)',
    values: ['000000', null],
  });
});
