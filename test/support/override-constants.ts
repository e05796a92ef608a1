import { afterAll, beforeAll } from '@jest/globals';

/**
 * Gives constants that a file of src exports as an object other values for the suites of a `describe`. It stands before the
 * hook that boots Plinth, because classes may read them in their constructors.
 */
export function overrideConstants<T extends object>(constants: T, values: Partial<T>): void {
  const defaults = { ...constants };
  beforeAll(() => void Object.assign(constants, values));
  afterAll(() => void Object.assign(constants, defaults));
}
