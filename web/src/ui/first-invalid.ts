import type { SyntheticEvent } from 'react';

/** After a submission that validation has refused: puts the first field that needs a correction in view and focus. */
export function focusFirstInvalid(
  _errors: unknown,
  _values: unknown,
  event: SyntheticEvent | undefined,
): void {
  const form = event?.currentTarget.closest('form') ?? document;
  // The errors are in the page with its next frame.
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
