import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ToolFailure } from './agent-tool.js';
import { CalculateTool } from './calculate.tool.js';

const tool = new CalculateTool();

async function result(expression: string): Promise<string> {
  const { content } = await tool.run(tool.input.parse({ expression }));
  return content.split(' = ').at(-1) ?? '';
}

async function failure(expression: string): Promise<string> {
  const error: unknown = await result(expression).catch((caught: unknown) => caught);
  if (!(error instanceof ToolFailure)) throw new Error(`No failure: ${String(error)}`);
  return error.message;
}

describe('calculate', () => {
  it.each([
    ['2 + 3 * 4', '14'],
    ['(2 + 3) * 4', '20'],
    ['(1299 * 3 - 100) * 1.19', '4518.43'],
    ['0.1 + 0.2', '0.3'],
    ['-2 ^ 2', '-4'],
    ['2 ** 10', '1024'],
    ['2 ^ 3 ^ 2', '512'],
    ['7 % 4', '3'],
    ['6 × 7 ÷ 2 − 1', '20'],
    ['1e3 + .5', '1000.5'],
    ['sqrt(16) + abs(-2)', '6'],
    ['round(2.675, 2)', '2.68'],
    ['round(-1234.5678)', '-1235'],
    ['round(1250, -2)', '1300'],
    ['max(1, 2, 3) - min(4, 5)', '-1'],
    ['log2(8) + log10(1000) + ln(E)', '7'],
    ['2 * PI', '6.28318530717959'],
    ['9007199254740991', '9007199254740991'],
    ['2 ^ 100', '1.26765060022823e+30'],
    ['0 * -1', '0'],
  ])('%s is %s', async (expression, expected) => {
    expect(await result(expression)).toBe(expected);
  });

  it.each([
    ['  ', 'is empty'],
    ['1 / 0', 'infinite'],
    ['10 ^ 400', 'infinite'],
    ['1e400', 'infinite'],
    ['0 / 0', 'no defined result'],
    ['sqrt(-1)', 'no defined result'],
    ['x + 1', '"x" is unknown'],
    ['2abc', '"abc" is unknown'],
    ['0x10', '"x10" is unknown'],
    ['random()', '"random" is unknown'],
    ['(1 + 2', 'cannot be read'],
    ['1 +', 'cannot be read'],
    ['2 2', 'cannot be read'],
    ['1,299 * 2', 'cannot be read'],
    ['max', 'not a calculation'],
    ['sqrt', 'not a calculation'],
    ['PI(2)', 'cannot be read'],
    [`${'('.repeat(51)}1${')'.repeat(51)}`, 'in parts'],
  ])('%s is answered with what to do', async (expression, why) => {
    expect(await failure(expression)).toContain(why);
  });

  it.each([
    'constructor',
    'constructor.constructor("return 1")()',
    'abs.constructor(1)',
    '__proto__',
    'toString()',
    'prototype',
    'hasOwnProperty(1)',
    'f(x) = x',
    'x = 1; x',
    'a[0]',
    '[1, 2]',
    '"text"',
    "'text'",
    '1 < 2',
    '1 ? 2 : 3',
    '5!',
    '1 and 2',
    'not 1',
    'length 5',
    '1 in 2',
    'import(1)',
    'this',
    'e.e',
    '1 || 2',
    '`1`',
    '\\u0061bs(1)',
  ])('%s is no calculation', async (expression) => {
    expect(await failure(expression)).not.toBe('');
  });

  it('answers or fails for any text, at once', async () => {
    const piece = fc.constantFrom(
      ...['1', '.5', '2e3', '9'.repeat(20), '+', '-', '*', '/', '^', '%', '(', ')', ',', ' '],
      ...['sqrt', 'pow', 'max', 'PI', 'e', 'log2', '.', '_', '!', '=', '?', '"', '[', ';'],
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 60 }), async (pieces) => {
        const expression = pieces.join('').slice(0, 500);
        const outcome: unknown = await result(expression).catch((error: unknown) => error);
        if (typeof outcome === 'string') expect(Number.isFinite(Number(outcome))).toBe(true);
        else expect(outcome).toBeInstanceOf(ToolFailure);
      }),
    );
  });

  it('takes the longest and deepest expressions', async () => {
    expect(await result(`${'-'.repeat(499)}1`)).toBe('-1');
    expect(await result(Array<number>(250).fill(1).join('+'))).toBe('250');
    expect(await result(`${'1^'.repeat(200)}0`)).toBe('1');
    expect(await result(`${'('.repeat(50)}1${')'.repeat(50)}`)).toBe('1');
    expect(tool.input.safeParse({ expression: '1'.repeat(501) }).success).toBe(false);
  });
});
