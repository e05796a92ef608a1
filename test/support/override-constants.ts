import { afterAll, beforeAll } from '@jest/globals';

/** Gives constants that a file of src exports as an object other values; the answer gives them theirs back. */
export function setConstants<T extends object>(constants: T, values: Partial<T>): () => void {
  const defaults = { ...constants };
  Object.assign(constants, values);
  return () => void Object.assign(constants, defaults);
}

/**
 * setConstants for the suites of a `describe`. It stands before the hook that boots Plinth, because classes may read constants
 * in their constructors.
 */
export function overrideConstants<T extends object>(constants: T, values: Partial<T>): void {
  let restore: () => void;
  beforeAll(() => {
    restore = setConstants(constants, values);
  });
  afterAll(() => restore());
}
