import type { HarnessNews } from '@plinth/client';

/** A run that a tab shows and the sequence of the last event that it received. */
export interface Followed {
  readonly sessionId: string;
  readonly runId: string;
  readonly after: number;
}

/** Messages from a tab to the hub. */
export type ToHub =
  | {
      readonly kind: 'session';
      /** Sign-in token; undefined if no user is signed in. */
      readonly token: string | undefined;
      readonly clientId: string;
      /** The current tenant of the sign-in. */
      readonly tenantId: string | undefined;
      readonly language: string;
      /** Name of the lock that the tab holds while it is open. */
      readonly lock: string;
    }
  | { readonly kind: 'follow'; readonly run: Followed }
  | { readonly kind: 'unfollow'; readonly runId: string }
  | { readonly kind: 'leave' };

export type ConnectionState = 'connected' | 'reconnecting';

/** Messages from the hub to a tab. */
export type FromHub =
  | HarnessNews
  | { readonly kind: 'connection'; readonly state: ConnectionState }
  /** The run no longer exists or does not belong to the user. */
  | { readonly kind: 'gone'; readonly runId: string; readonly message: string }
  /** The service refuses the stream because the sign-in or the permission has ended. */
  | { readonly kind: 'refused' };
