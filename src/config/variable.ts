import { z } from 'zod';

/** One environment variable: how its text is read, and what a reader of the README learns about it. */
export interface Variable<T = unknown> {
  readonly schema: z.ZodType<T>;
  readonly description: string;
  readonly example: string;
  /** Text used when the variable is unset or blank. Without one, the variable may stay undefined if the schema allows it. */
  readonly default?: string;
  /** Never printed, neither in errors nor in logs. */
  readonly secret?: boolean;
}

export function variable<T>(schema: z.ZodType<T>, about: Omit<Variable<T>, 'schema'>): Variable<T> {
  return { schema, ...about };
}

export const text = z.string().min(1);
export const optionalText = z.string().min(1).optional();

export const wholeNumber = (min: number, max: number): z.ZodType<number> =>
  z
    .string()
    .regex(/^\d+$/, 'must be a whole number')
    .transform(Number)
    .refine((n) => n >= min && n <= max, `must be between ${min} and ${max}`);

export const onOff: z.ZodType<boolean> = z
  .enum(['on', 'off', 'true', 'false', '1', '0'], { error: 'must be on or off' })
  .transform((word) => ['on', 'true', '1'].includes(word));

export const commaList: z.ZodType<string[]> = z.string().transform((list) =>
  list
    .split(',')
    .map((entry) => entry.trim())
    .filter((entry) => entry !== ''),
);

const hostName = z
  .string()
  .toLowerCase()
  .regex(/^[a-z\d-]+(\.[a-z\d-]+)+$/, 'must be host names, without https:// and port');

/** Two host names. */
export const hostPair: z.ZodType<[string, string]> = commaList.pipe(
  z.tuple([hostName, hostName], { error: 'must be two host names with a comma between them' }),
);

export const address = (...protocols: string[]): z.ZodType<string> =>
  z
    .string()
    .refine(
      (value) => URL.canParse(value) && protocols.includes(new URL(value).protocol),
      `must be an address starting with ${protocols.map((p) => `${p}//`).join(' or ')}`,
    );

export const url = (...protocols: string[]): z.ZodType<string | undefined> =>
  address(...protocols).optional();
