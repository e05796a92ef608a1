import { expect, it } from '@jest/globals';
import { columnsOf, insertionOf } from './columns.repository.js';
import { HarnessSwitch } from './harness.entity.js';

it('columnsOf names each column of an entity after its property', () => {
  expect(columnsOf(HarnessSwitch)).toBe(
    'name AS "name", enabled AS "enabled", changed_by AS "changedBy", update_time AS "updateTime"',
  );
  expect(columnsOf(HarnessSwitch, 's')).toMatch(/^s\.name AS "name", s\.enabled/);
});

it('insertionOf puts each field of a record into its column', () => {
  expect(insertionOf({ tenantId: '000000', changedBy: null })).toEqual({
    fields: '(tenant_id, changed_by) VALUES ($1, $2)',
    values: ['000000', null],
  });
});
