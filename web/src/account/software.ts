import type { SignInView } from '@plinth/client';

/** "Firefox on Linux"; empty where neither is known. */
export function softwareOf({ browser, os }: Pick<SignInView, 'browser' | 'os'>): string {
  return [browser, os].filter((part) => part).join(' · ');
}
