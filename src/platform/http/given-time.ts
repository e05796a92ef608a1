import { InvalidInputError } from '../error/index.js';

/** A time in the format of the wire, or a day. */
export const GIVEN_TIME = /^(\d{4}-\d{2}-\d{2}( \d{2}:\d{2}(:\d{2})?)?)?$/;
export const GIVEN_TIME_MESSAGE = 'must be a time like 2026-01-31 18:30:00, or a day';

/**
 * Reads a time in the zone that times on the wire are in: its start or, as the end of a range, the first
 * moment after that second or day.
 */
export function givenTime(field: string, text: string, edge: 'start' | 'end'): Date {
  const [day, time = edge === 'start' ? '00:00:00' : '23:59:59'] = text.split(' ');
  const read = new Date(`${day}T${time}`);
  if (Number.isNaN(read.getTime())) throw new InvalidInputError(`${field}: there is no ${text}.`);
  return edge === 'end' ? new Date(read.getTime() + 1_000) : read;
}
