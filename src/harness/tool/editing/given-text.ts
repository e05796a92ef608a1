import { z } from 'zod';

/** Text that can be stored in a file as UTF-8 and read back the same. */
export function givenText(maxLength: number): z.ZodString {
  return z
    .string()
    .max(maxLength)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), {
      error: 'must be valid text without NUL characters',
    });
}

/** Any text: what is wrong with a path, the workspace says. */
export const givenPath = z.string().describe('Path of the file, relative to the workspace');

const LONGEST_TITLE = 300;

/** A title for people: on one line, whatever the path holds. */
export function titled(verb: string, path: string): string {
  return `${verb} ${path.replaceAll(/\p{Cc}/gu, '\ufffd')}`.slice(0, LONGEST_TITLE).toWellFormed();
}
