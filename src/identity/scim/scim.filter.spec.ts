import { describe, expect, it } from '@jest/globals';
import { conditionOf } from './scim.condition.js';
import { ScimError } from './scim.errors.js';
import { fits, MAX_FILTER_CHARS, parseFilter } from './scim.filter.js';

const OF = {
  a: { sql: 't.a', kind: 'text' },
  b: { sql: 't.b', kind: 'exact' },
  c: { sql: 't.c', kind: 'flag' },
  d: { sql: 't.d', kind: 'time' },
} as const;

function sql(filter: string): { text: string; parameters: unknown[] } {
  const parameters: unknown[] = ['tenant'];
  return { text: conditionOf(parseFilter(filter), OF, parameters), parameters };
}

describe('a filter', () => {
  it('binds and more closely than or, and values as parameters', () => {
    expect(sql(`a eq "x" or b sw "y' --" and not (c eq true)`)).toEqual({
      text:
        '(coalesce(lower(t.a) = lower($2::text), false) or (coalesce(starts_with(t.b, $3::text), false)' +
        ' and NOT coalesce(t.c = $4::boolean, false)))',
      parameters: ['tenant', 'x', "y' --", true],
    });
    expect(sql('d gt "2026-01-31T10:30:00+01:00"').parameters[1]).toBe('2026-01-31T09:30:00.000Z');
    expect(sql('b eq null').text).toBe('coalesce(t.b IS NULL, false)');
    expect(sql('(a pr) AND b Eq 5').parameters).toEqual(['tenant', '5']);
  });

  it('does not multiply', () => {
    const terms = Array.from({ length: 40 }, () => '(a pr or b pr)');
    expect(sql(terms.join(' and ')).text.length).toBeLessThan(5_000);
  });

  it.each([
    ...['', ' ', 'a', 'a eq', 'a eq "x" and', 'eq "x"', 'a is "x"', '(a pr', 'a pr)', 'a[b pr'],
    ...['a eq "x', 'a eq x', 'a eq {}', 'a eq []', 'a eq "\\x"', 'a eq "\\u0000"', 'not a pr'],
    ...['c gt true', 'c eq "maybe"', 'd eq "yesterday"', 'd co "2026"', 'a gt null', 'e pr'],
    ...['constructor pr', '__proto__ pr', '('.repeat(MAX_FILTER_CHARS), 'a'.repeat(2_000)],
  ])('is refused: %s', (filter) => {
    expect(() => sql(filter)).toThrow(ScimError);
  });

  it('chooses among values', () => {
    const work = { type: 'work', primary: true, value: 'A@b.c' };
    const chooses = (text: string): boolean => fits(parseFilter(`e[${text}]`), 'e.', work);
    expect(chooses('type eq "Work" and primary eq true')).toBe(true);
    expect(chooses('value eq "a@B.c" or type eq "home"')).toBe(true);
    expect(chooses('type ne "work"')).toBe(false);
    expect(chooses('display pr')).toBe(false);
    expect(() => chooses('value co "a"')).toThrow(ScimError);
  });
});
