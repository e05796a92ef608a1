/** A function that a coder knows how to write. */
interface Known {
  readonly name: RegExp;
  readonly parameters: string;
  readonly says: string;
  readonly body: readonly string[];
  /** An expression, with `@` for the function, and what it has to be. */
  readonly example: readonly [call: string, value: string];
}

const KNOWN: readonly Known[] = [
  {
    name: /median/i,
    parameters: 'values',
    says: 'The middle of the numbers in order; the mean of both middles when their count is even.',
    body: [
      'const sorted = [...values].sort((a, b) => a - b);',
      'const middle = Math.floor(sorted.length / 2);',
      'if (sorted.length % 2 === 1) return sorted[middle];',
      'return (sorted[middle - 1] + sorted[middle]) / 2;',
    ],
    example: ['@([3, 1, 2])', '2'],
  },
  {
    name: /average|mean/i,
    parameters: 'values',
    says: 'The sum of the numbers divided by their count; 0 for none.',
    body: [
      'if (values.length === 0) return 0;',
      'return values.reduce((sum, value) => sum + value, 0) / values.length;',
    ],
    example: ['@([1, 2, 6])', '3'],
  },
  {
    name: /pieces|quantit|itemcount|countitems/i,
    parameters: 'lines',
    says: 'How many pieces the lines hold together.',
    body: ['return lines.reduce((count, { quantity }) => count + quantity, 0);'],
    example: ['@([{ price: 1, quantity: 2 }, { price: 1, quantity: 3 }])', '5'],
  },
  {
    name: /sum|total/i,
    parameters: 'values',
    says: 'The sum of the numbers; 0 for none.',
    body: ['return values.reduce((sum, value) => sum + value, 0);'],
    example: ['@([1, 2, 3])', '6'],
  },
  {
    name: /clamp|limit/i,
    parameters: 'value, lowest, highest',
    says: 'The value, or the bound that it goes beyond.',
    body: ['return Math.min(Math.max(value, lowest), highest);'],
    example: ['@(12, 0, 10)', '10'],
  },
  {
    name: /max|largest|highest/i,
    parameters: 'values',
    says: 'The largest of the numbers; undefined for none.',
    body: ['return values.length === 0 ? undefined : Math.max(...values);'],
    example: ['@([1, 3, 2])', '3'],
  },
  {
    name: /min|smallest|lowest/i,
    parameters: 'values',
    says: 'The smallest of the numbers; undefined for none.',
    body: ['return values.length === 0 ? undefined : Math.min(...values);'],
    example: ['@([2, 1, 3])', '1'],
  },
  {
    name: /unique|distinct/i,
    parameters: 'values',
    says: 'The values without repetitions, in their order.',
    body: ['return [...new Set(values)];'],
    example: ['@([1, 2, 1])', '[1, 2]'],
  },
  {
    name: /capitali[sz]e/i,
    parameters: 'text',
    says: 'The text with its first letter in upper case.',
    body: ['return text.charAt(0).toUpperCase() + text.slice(1);'],
    example: ["@('plinth')", "'Plinth'"],
  },
  {
    name: /palindrome/i,
    parameters: 'text',
    says: 'Whether the text reads the same backwards.',
    body: ["return text === [...text].reverse().join('');"],
    example: ["@('level')", 'true'],
  },
  {
    name: /reverse/i,
    parameters: 'text',
    says: 'The characters of the text from last to first.',
    body: ["return [...text].reverse().join('');"],
    example: ["@('abc')", "'cba'"],
  },
  {
    name: /factorial/i,
    parameters: 'n',
    says: 'The product of the whole numbers from 1 to n.',
    body: ['return n <= 1 ? 1 : n * @(n - 1);'],
    example: ['@(5)', '120'],
  },
];

export interface WrittenFunction {
  readonly code: string;
  /** False: only a skeleton that throws. */
  readonly works: boolean;
  readonly test: string | undefined;
}

/** Writes the function, or a skeleton where the name says nothing. `says` goes into the skeleton's comment. */
export function writeFunction(name: string, says: string, isModule: boolean): WrittenFunction {
  const template = KNOWN.find((one) => one.name.test(name));
  const head = (parameters: string) =>
    isModule
      ? `export function ${name}(${parameters}) {`
      : `exports.${name} = function ${name}(${parameters}) {`;
  const end = isModule ? '}' : '};';
  if (!template) {
    const problem = `throw new Error('${name} is not written yet');`;
    return {
      code: [`/** To be written: ${says} */`, head(''), `  ${problem}`, end].join('\n'),
      works: false,
      test: undefined,
    };
  }
  const body = template.body.map((line) => `  ${line.replaceAll('@', name)}`);
  const [call, value] = template.example.map((text) => text.replaceAll('@', name));
  return {
    code: [`/** ${template.says} */`, head(template.parameters), ...body, end].join('\n'),
    works: true,
    test: [`test('${name}', () => {`, `  assert.deepEqual(${call}, ${value});`, '});'].join('\n'),
  };
}
