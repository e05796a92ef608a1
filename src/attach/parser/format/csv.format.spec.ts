import { describe, expect, it } from '@jest/globals';
import { csvOf } from '../../../../test/support/documents/csv.js';
import { readCsv } from './csv.format.js';

/** Each row as `type row columns: text`. */
function rows(text: string): string[] {
  const source = readCsv(text);
  return (source.blocks ?? []).map((block) => {
    const content = source.text.slice(block.start, block.end);
    return 'row' in block ? `${block.type} ${block.row} ${block.columns}: ${content}` : block.type;
  });
}

describe('readCsv', () => {
  it('takes the first row for the header and each other for a row, one line each', () => {
    const { kind, text } = readCsv('name,qty\nBolt,5\nNut,7\n');
    expect({ kind, text }).toEqual({ kind: 'table', text: 'name | qty\nBolt | 5\nNut | 7' });
    expect(rows('name,qty\nBolt,5\nNut,7\n')).toEqual([
      'table-header 1 2: name | qty',
      'table-row 2 2: Bolt | 5',
      'table-row 3 2: Nut | 7',
    ]);
  });

  it.each([',', ';', '\t', '|'])('finds out the delimiter %j', (delimiter) => {
    const text = csvOf(
      [
        ['name', 'price'],
        ['a, b; c', '1.5'],
        ['d', '2'],
      ],
      delimiter,
    );
    expect(readCsv(text.replaceAll('\r\n', '\n')).text).toBe('name | price\na, b; c | 1.5\nd | 2');
  });

  it('is not misled by decimal commas', () => {
    expect(readCsv('a;b\n1,5;2,5\n3,5;4,5\n').text).toBe('a | b\n1,5 | 2,5\n3,5 | 4,5');
  });

  it('believes the line by which Excel is told the delimiter, and counts it', () => {
    expect(rows('sep=;\na,x;b\n1;2\n')).toEqual([
      'table-header 2 2: a,x | b',
      'table-row 3 2: 1 | 2',
    ]);
  });

  it('reads quotes, delimiters and line ends within values', () => {
    expect(readCsv('a,b\n"x, ""y""","two\nlines"\n').text).toBe('a | b\nx, "y" | two lines');
  });

  it('tolerates rows of different length, skips empty ones and keeps their numbers', () => {
    expect(rows('a,b,c\n1\n\n,,\n1,2,3,4\n,x\n')).toEqual([
      'table-header 1 3: a | b | c',
      'table-row 2 1: 1',
      'table-row 5 4: 1 | 2 | 3 | 4',
      'table-row 6 2:  | x',
    ]);
  });

  it('takes quotes for characters when one is never closed', () => {
    expect(readCsv('a,b\n5" pipe,1\n"open,2\n').text).toBe('a | b\n5" pipe | 1\n"open | 2');
  });

  it('finds a header below narrow titles, and none in a table of numbers', () => {
    expect(rows('Report 2024\n\nname,qty,price\nBolt,5,1.2\n')[1]).toBe(
      'table-header 3 3: name | qty | price',
    );
    expect(rows('1,2\n3,4\n').map((row) => row.split(' ')[0])).toEqual(['table-row', 'table-row']);
  });

  it('reads a single column', () => {
    expect(readCsv('name\nBolt\nNut').text).toBe('name\nBolt\nNut');
  });
});
