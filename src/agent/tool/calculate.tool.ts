import { Injectable } from '@nestjs/common';
import { Parser } from 'expr-eval-fork';
import { z } from 'zod';
import { ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolOutcome } from './agent-tool.js';

const MAX_EXPRESSION_CHARS = 500;
const DEEPEST = 50;
/** Significant digits of a 64-bit float that are always right. */
const DIGITS = 15;

const input = z.strictObject({
  expression: z
    .string()
    .max(MAX_EXPRESSION_CHARS)
    .describe('For example (1299 * 3 - 100) * 1.19, or round(sqrt(2) * 100) / 100.'),
});
type Input = z.infer<typeof input>;

/** Functions for expressions. Each takes and returns numbers, in time independent of their size. */
const FUNCTIONS: Readonly<Record<string, (...numbers: number[]) => number>> = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  cbrt: Math.cbrt,
  ceil: Math.ceil,
  cos: Math.cos,
  exp: Math.exp,
  floor: Math.floor,
  hypot: Math.hypot,
  ln: Math.log,
  log: Math.log,
  log10: Math.log10,
  log2: Math.log2,
  max: Math.max,
  min: Math.min,
  pow: Math.pow,
  round: (number, decimals = 0) => {
    const scale = 10 ** decimals;
    return (Math.sign(number) * Math.round(exactly(Math.abs(number) * scale))) / scale;
  },
  sign: Math.sign,
  sin: Math.sin,
  sqrt: Math.sqrt,
  tan: Math.tan,
  trunc: Math.trunc,
};
const CONSTANTS: Readonly<Record<string, number>> = {
  PI: Math.PI,
  pi: Math.PI,
  E: Math.E,
  e: Math.E,
};

/** Allowed characters. They exclude the parser's other functions, operators on texts and lists, and property access. */
const CHARACTERS = /^[\d\sA-Za-z_.,+\-*/%^()]*$/;
/** Numbers are matched so that what follows them, as in 2abc, is taken for a name. */
const TOKEN = /([A-Za-z_]\w*)|(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?/g;

/** Calculates an expression of numbers. */
@Injectable()
export class CalculateTool implements AgentTool<Input> {
  readonly name = 'calculate';
  readonly input = input;
  readonly description = `Calculates an expression with 15 significant digits. Use it for every calculation instead of doing it in your head. Operators: + - * / % ^ and ( ). Constants: PI, E. Functions: ${Object.keys(FUNCTIONS).join(', ')}; angles are in radians, log is the natural logarithm, round takes the number of decimals as an optional second argument. Write numbers with a decimal point and without thousands separators, 20 percent as 0.2. At most ${MAX_EXPRESSION_CHARS} characters.`;

  async run({ expression }: Input): Promise<ToolOutcome> {
    const text = withPlainOperators(expression.trim());
    check(text);
    const result = formatNumber(evaluated(text));
    return { content: `${text} = ${result}`, summary: `${text} = ${result}` };
  }
}

/** Refuses any input that the parser could interpret as more than a calculation. */
function check(text: string): void {
  if (text === '') throw new ToolFailure('expression is empty. Give a calculation such as 2 * 21.');
  if (!CHARACTERS.test(text)) {
    throw new ToolFailure(
      'The expression has characters that are no part of a calculation. Use numbers, + - * / % ^, parentheses and the listed functions only.',
    );
  }
  const names = Array.from(text.matchAll(TOKEN), ([, name]) => name);
  const unknown = names.find((name) => name !== undefined && !isKnown(name));
  if (unknown !== undefined) {
    throw new ToolFailure(
      `"${unknown.slice(0, 40)}" is unknown. There are no variables; the functions are ${Object.keys(FUNCTIONS).join(', ')}, the constants PI and E.`,
    );
  }
  if (depthOf(text) > DEEPEST) {
    throw new ToolFailure(
      `The expression has more than ${DEEPEST} parentheses inside each other. Calculate it in parts.`,
    );
  }
}

function withPlainOperators(text: string): string {
  return text.replaceAll('**', '^').replaceAll('×', '*').replaceAll('÷', '/').replaceAll('−', '-');
}

function isKnown(name: string): boolean {
  return Object.hasOwn(FUNCTIONS, name) || Object.hasOwn(CONSTANTS, name);
}

function depthOf(text: string): number {
  let depth = 0;
  let deepest = 0;
  for (const character of text) {
    if (character === '(') deepest = Math.max(deepest, (depth += 1));
    else if (character === ')') depth -= 1;
  }
  return deepest;
}

const parser = calculator();

function calculator(): Parser {
  const arithmetic = new Parser({
    allowMemberAccess: false,
    operators: {
      assignment: false,
      comparison: false,
      concatenate: false,
      conditional: false,
      factorial: false,
      fndef: false,
      in: false,
      length: false,
      logical: false,
      random: false,
    },
  });
  // Named functions are operators of the parser otherwise, which bind without parentheses: sqrt 4 ^ 2.
  arithmetic.unaryOps = pick(arithmetic.unaryOps as Record<string, unknown>, ['-', '+']);
  arithmetic.functions = { ...FUNCTIONS };
  arithmetic.consts = { ...CONSTANTS };
  return arithmetic;
}

function pick(all: Record<string, unknown>, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, all[name]]));
}

function evaluated(text: string): number {
  const value = valueOf(text);
  if (typeof value !== 'number') {
    throw new ToolFailure('The expression is not a calculation. Give one with numbers only.');
  }
  if (Number.isNaN(value)) {
    throw new ToolFailure(
      'The expression has no defined result, such as 0 / 0 or the root of a negative number. Check it.',
    );
  }
  if (!Number.isFinite(value)) {
    throw new ToolFailure(
      'The result is infinite or larger than 1.8e308: a division by zero, or too large a power. Check the expression.',
    );
  }
  return value;
}

function valueOf(text: string): unknown {
  try {
    return parser.parse(text).evaluate({});
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 200) : 'unknown';
    throw new ToolFailure(
      `The expression cannot be read: ${reason}. Write it with numbers, operators and parentheses, such as (2 + 3) * 4.`,
    );
  }
}

/** Formats without the binary rounding error: 0.1 + 0.2 is 0.3. */
function exactly(value: number): number {
  return Number(value.toPrecision(DIGITS));
}

function formatNumber(value: number): string {
  return Number.isSafeInteger(value) ? String(value) : String(exactly(value));
}
