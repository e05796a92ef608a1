import { describe, expect, it } from '@jest/globals';
import { IsOptional } from 'class-validator';
import { InvalidInputError } from '../error/index.js';
import { inputPipe, Nested, StrictFields, Text, Whole } from './input.js';
import { msg } from '../message/index.js';

class Part {
  @Whole({ optional: true, max: 9 }) size?: number;
}

@StrictFields()
class Body {
  @Text() name: string;

  @IsOptional()
  @Nested(() => Part, { message: msg`part must be an object` })
  part?: Part;

  @IsOptional()
  @Nested(() => Part, { each: true, message: msg`each entry of parts must be an object` })
  parts?: Part[];
}

async function refusal(json: string): Promise<InvalidInputError> {
  const sent = inputPipe().transform(JSON.parse(json), { type: 'body', metatype: Body });
  const error: unknown = await sent.catch((thrown: unknown) => thrown);
  if (error instanceof InvalidInputError) return error;
  throw new Error('It was accepted.');
}

describe('strict fields', () => {
  it('are read as they are', async () => {
    const sent = { name: 'x', part: { size: 1 }, parts: [{ size: 2 }, {}] };
    const body: unknown = await inputPipe().transform(sent, { type: 'body', metatype: Body });
    expect(body).toEqual(sent);
  });

  it.each([
    '__proto__',
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'isPrototypeOf',
    '__defineGetter__',
    'surprise',
    '',
  ])('refuse %j at every level', async (name) => {
    const own = `${JSON.stringify(name)}: {"size": 1}`;
    const bodies: [string, string][] = [
      [`{"name": "x", ${own}}`, name],
      [`{"name": "x", "part": {${own}}}`, `part.${name}`],
      [`{"name": "x", "parts": [{}, {${own}}]}`, `parts.1.${name}`],
    ];
    for (const [body, field] of bodies) {
      const { data, message } = await refusal(body);
      expect(data).toEqual({ errorCode: 'UNKNOWN_FIELD', fields: [field] });
      expect(
        message.startsWith(`${field}: unknown here, so nothing was done. The fields are`),
      ).toBe(true);
    }
  });

  it('name what is unknown with all other problems', async () => {
    const { message, data } = await refusal('{"a": 1, "part": {"b": 1, "size": 10}}');
    expect(data).toEqual({ errorCode: 'UNKNOWN_FIELD', fields: ['a', 'part.b'] });
    expect(message).toBe(
      'a: unknown here, so nothing was done. The fields are name, part, parts. Remove or correct what is unknown, ' +
        'part.b: unknown here, so nothing was done. The fields are part.size. Remove or correct what is unknown, ' +
        'name is required, part.size must be at most 9',
    );
  });
});
