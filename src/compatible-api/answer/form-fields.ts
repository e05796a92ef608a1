import { z } from 'zod';
import type { FormValue } from '../../provider/index.js';

// Fields of forms are texts, whatever they stand for.

/** A flag of a form. */
export const formFlag = z
  .union([z.boolean(), z.enum(['true', 'false', 'True', 'False', '1', '0'])])
  .transform((value) => value === true || ['true', 'True', '1'].includes(String(value)));

/** A number of a form, or of the same request as JSON. */
export const formNumber = (min: number, max: number) =>
  z
    .union([z.number(), z.string().regex(/^\s*-?\d+(\.\d+)?\s*$/, 'a number is expected')])
    .transform(Number)
    .pipe(z.number().min(min).max(max));

/** Fields of a form as a service of the protocol reads them: `a[]` for each of a list, `a[b]` for a field of an object. */
export function formFields(fields: Readonly<Record<string, unknown>>): Record<string, FormValue> {
  const flat: Record<string, FormValue> = {};
  for (const [name, value] of Object.entries(fields)) {
    if (Array.isArray(value)) flat[`${name}[]`] = value.map(textOf);
    else if (typeof value === 'object' && value !== null) {
      const inner = Object.entries(value).map(([key, one]) => [`${name}[${key}]`, textOf(one)]);
      Object.assign(flat, Object.fromEntries(inner));
    } else if (value !== undefined && value !== null) flat[name] = textOf(value);
  }
  return flat;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}
