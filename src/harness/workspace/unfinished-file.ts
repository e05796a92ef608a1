import { randomBytes } from 'node:crypto';

/** As classifyPath knows them: a file may hold a secret before it has its own name. */
const UNFINISHED = /^\.plinth-[\da-f]{32}\.tmp$/;

/** A name, which nobody can guess, for a file that is written before it takes the place of another. */
export function unfinishedName(): string {
  return `.plinth-${randomBytes(16).toString('hex')}.tmp`;
}

export function isUnfinished(name: string): boolean {
  return UNFINISHED.test(name);
}
