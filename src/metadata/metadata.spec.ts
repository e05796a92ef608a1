import { describe, expect, it } from '@jest/globals';
import { InvalidInputError } from '../platform/error/index.js';
import { readMetadata, readMetadataText, shownMetadata } from './metadata.js';

describe('readMetadata', () => {
  it('tells texts, numbers, dates and lists apart, and shows them as they were', () => {
    const given = {
      author: 'Ann',
      year: 2026,
      issued: '2026-01-31',
      tags: ['price', '2026-01-31'],
      empty: '',
      gone: null,
    };
    const stored = readMetadata(given);
    expect(stored).toEqual({
      author: 'Ann',
      year: 2026,
      issued: { date: '2026-01-31', at: Date.UTC(2026, 0, 31) },
      tags: ['price', '2026-01-31'],
      empty: '',
    });
    const { gone: _, ...shown } = given;
    expect(shownMetadata(stored)).toEqual(shown);
  });

  it.each([
    ['2026-01-31T10:00', '2026-01-31T10:00:00.000Z'],
    ['2026-01-31 10:00:30.25', '2026-01-31T10:00:30.250Z'],
    ['2026-01-31T10:00:00+02:00', '2026-01-31T08:00:00.000Z'],
    ['0099-01-01', '0099-01-01'],
  ])('reads the date %s as %s', (given, expected) => {
    expect(shownMetadata(readMetadata({ at: given }))).toEqual({ at: expected });
    expect(readMetadata({ at: given })).toEqual({
      at: { date: expected, at: Date.parse(expected) },
    });
  });

  it.each(['2026', '2026-1-31', '31.01.2026', '2026-01-31 noon', 'on 2026-01-31'])(
    'reads %s as text',
    (given) => {
      expect(readMetadata({ at: given })).toEqual({ at: given });
    },
  );

  it.each<[unknown, string]>([
    [[], 'metadata must be an object'],
    ['text', 'metadata must be an object'],
    [{ at: '2026-02-30' }, 'metadata.at is 2026-02-30, and there is no such date'],
    [{ at: '2026-01-31T24:30' }, 'there is no such date'],
    [{ at: '2026-01-31T10:00+99:00' }, 'there is no such date'],
    [{ flag: true }, 'metadata.flag must be a text, a number, a date'],
    [{ 'a b': {} }, 'metadata["a b"] must be a text'],
    [{ tags: ['x', 1] }, 'metadata.tags[1] must be text'],
    [{ tags: Array.from({ length: 101 }, () => 'x') }, 'metadata.tags has 101 entries'],
    [{ tags: ['x'.repeat(201)] }, 'metadata.tags[0] has 201 characters'],
    [{ text: 'x'.repeat(1_001) }, 'metadata.text has 1001 characters'],
    [{ text: 'a\0b' }, 'metadata.text must not contain the NUL character'],
    [{ number: Infinity }, 'metadata.number is too large'],
    [{ '': 1 }, 'a key of metadata is ""'],
    [{ ' a': 1 }, 'a key of metadata is " a"'],
    [{ 'a"': 1 }, 'a key of metadata is "a\\""'],
    [JSON.parse('{"__proto__":1}'), 'a key of metadata is "__proto__"'],
    [{ ['x'.repeat(65)]: 1 }, 'most 64 letters'],
    [Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`k${at}`, at])), 'has 51 keys'],
    [
      Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`k${at}`, 'x'.repeat(1_000)])),
      'characters as JSON',
    ],
  ])('refuses %# and says where', (given, message) => {
    expect(() => readMetadata(given)).toThrow(InvalidInputError);
    expect(() => readMetadata(given)).toThrow(message);
  });

  it('reads JSON from a text, and nothing from an empty one', () => {
    expect(readMetadataText(undefined)).toEqual({});
    expect(readMetadataText('{"year":2026}')).toEqual({ year: 2026 });
    expect(() => readMetadataText('year=2026')).toThrow('metadata must be JSON');
  });
});
