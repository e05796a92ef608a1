import { describe, expect, it } from '@jest/globals';
import { integer, nullable, optional, text, time, timestamp, uuid, View } from './answer.js';

class CupView extends View({
  cupId: uuid(),
  name: text(),
  size: nullable(integer()),
  createdAt: timestamp(),
  emptiedAt: nullable(timestamp()),
  note: optional(text()),
}) {}

class SaleView extends View({ bought: time(), sold: timestamp() }) {}

const cup = {
  cupId: 'c1',
  name: 'blue',
  size: null,
  createdAt: new Date(1_000),
  emptiedAt: null,
};

describe('View.of', () => {
  it('copies the fields of the view in their order and leaves out all others', () => {
    const row = { note: 'n', secret: 'x', ...cup, emptiedAt: new Date(2_000) };
    expect(Object.entries(CupView.of(row))).toEqual([
      ['cupId', 'c1'],
      ['name', 'blue'],
      ['size', null],
      ['createdAt', 1_000],
      ['emptiedAt', 2_000],
      ['note', 'n'],
    ]);
  });

  it('leaves out what is undefined', () => {
    expect(CupView.of(cup)).not.toHaveProperty('note');
  });

  it('writes a date as the type of its field says', () => {
    const times = { bought: new Date(Date.UTC(2026, 0, 31, 18, 30)), sold: new Date(3_000) };
    expect(SaleView.of(times)).toEqual({ bought: '2026-01-31 18:30:00', sold: 3_000 });
  });

  it('prefers what stands beside the record', () => {
    expect(CupView.of(cup, { name: 'red' })).toMatchObject({ cupId: 'c1', name: 'red' });
  });
});
