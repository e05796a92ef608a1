import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { modelName, parameters } from './parameters.js';

const schema = z.strictObject({
  model: modelName,
  input: z.union([z.string(), z.array(z.union([z.string(), z.number()])).max(2)]),
  choice: z.union([z.enum(['auto', 'none']), z.strictObject({ name: z.string() })]).optional(),
});
const body = { model: 'm', input: 'x' };

describe('a parameter that is wrong', () => {
  it.each([
    [
      undefined,
      'The request has no JSON body. Send one with the header Content-Type: application/json.',
    ],
    [{ input: 'x' }, 'The parameter model is required.'],
    [
      { ...body, model: ' ' },
      'The parameter model is not valid: it must not be blank. Correct it.',
    ],
    [{ model: 'm' }, 'The parameter input is required.'],
    [{ ...body, input: null }, 'The parameter input is required.'],
    [
      { ...body, input: 5 },
      'The parameter input is not valid: it must be a text or a list. Correct it.',
    ],
    [
      { ...body, input: ['a', 'b', 'c'] },
      'The parameter input is not valid: it must have at most 2 entries. Correct it.',
    ],
    [
      { ...body, input: ['a', true] },
      'The parameter input[1] is not valid: it must be a text or a number. Correct it.',
    ],
    [
      { ...body, choice: 'all' },
      'The parameter choice is not valid: it must be "auto" or "none". Correct it.',
    ],
    [
      { ...body, choice: { name: 5 } },
      'The parameter choice.name is not valid: it must be a text. Correct it.',
    ],
    [
      { ...body, choice: { name: 'x', more: 1 } },
      'The parameter choice.more cannot be honoured for this model. Remove it, or choose another model.',
    ],
  ])('%j is described', (given, message) => {
    expect(() => parameters(schema, given)).toThrow(message);
  });
});
