import { withoutSecrets } from '../safe-text.js';
import type { Secrets } from '../safe-text.js';

const LONGEST_TEXT = 64 * 1024;
/** Longer texts of these characters alone are media: an id is shorter, and an address has others. */
const LONGEST_ENCODED = 2_048;
const SHOWN_OF_ENCODED = 64;
const ENCODED = /^(?:data:[^,]*,)?[\w+/=\r\n-]*$/;

/** A service's JSON answer as text for diagnosis: without credentials, with embedded media cut to their beginning. */
export function rawResponseOf(answer: unknown, secrets: Secrets): string {
  const text = JSON.stringify(answer, shortened);
  // Cut first, which bounds the work on a hostile answer; of a secret at the cut, the part left is removed, too.
  const safe = withoutSecrets(text.slice(0, LONGEST_TEXT), secrets);
  return text.length <= LONGEST_TEXT ? safe : `${safe}…`;
}

function shortened(_key: string, value: unknown): unknown {
  if (typeof value !== 'string' || value.length <= LONGEST_ENCODED || !ENCODED.test(value)) {
    return value;
  }
  return `${value.slice(0, SHOWN_OF_ENCODED)}… (${value.length} characters)`;
}
