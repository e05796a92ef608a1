import type { SyntheticEvent } from 'react';

/** After a failed validation, scrolls to the first invalid field and focuses it. */
export function focusFirstInvalid(
  _errors: unknown,
  _values: unknown,
  event: SyntheticEvent | undefined,
): void {
  const form = event?.currentTarget.closest('form') ?? document;
  // The errors are rendered in the next frame.
  requestAnimationFrame(() => form.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus());
}
