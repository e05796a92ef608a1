import { InvalidInputError } from '../../../platform/error/index.js';

/** A task's id as one segment of a path. Throws InvalidInputError for what cannot be an id. */
export function taskSegment(id: string): string {
  // Even when encoded, these two would be read as steps in the path.
  if (id.trim() === '' || id === '.' || id === '..') {
    throw new InvalidInputError('This is no task id. Enter the id that the request was answered.');
  }
  return encodeURIComponent(id);
}
