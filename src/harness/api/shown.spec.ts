import { describe, expect, it } from '@jest/globals';
import { ApiProperty } from '@nestjs/swagger';
import {
  integer,
  nullable,
  optional,
  text,
  timestamp,
  uuid,
  View,
} from '../../platform/http/index.js';
import { shown } from './shown.js';

class CupView extends View({
  cupId: uuid(),
  name: text(),
  size: nullable(integer()),
  createdAt: timestamp(),
  emptiedAt: nullable(timestamp()),
  note: optional(text()),
}) {}

class SoldCupView extends CupView {
  @ApiProperty()
  price: number;
}

const cup = {
  cupId: 'c1',
  name: 'blue',
  size: null,
  createdAt: new Date(1_000),
  emptiedAt: null,
};

describe('shown', () => {
  it('copies the fields of the view in their order and leaves out all others', () => {
    const row = { note: 'n', secret: 'x', ...cup, emptiedAt: new Date(2_000) };
    expect(Object.entries(shown(CupView, row))).toEqual([
      ['cupId', 'c1'],
      ['name', 'blue'],
      ['size', null],
      ['createdAt', 1_000],
      ['emptiedAt', 2_000],
      ['note', 'n'],
    ]);
  });

  it('leaves out what is undefined', () => {
    expect(shown(CupView, cup)).not.toHaveProperty('note');
  });

  it('knows the fields that a view inherits', () => {
    const sold = shown(SoldCupView, { ...cup, price: 3 });
    expect(sold).toMatchObject({ cupId: 'c1', price: 3 });
    expect(shown(CupView, sold)).not.toHaveProperty('price');
  });
});
