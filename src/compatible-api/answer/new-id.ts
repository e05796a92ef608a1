import { randomUUID } from 'node:crypto';

/** An id in the form of the services: the prefix, an underscore and 32 hexadecimal digits. */
export function newId(prefix: string): string {
  return `${prefix}_${randomUUID().replaceAll('-', '')}`;
}
