import type { HarnessNews } from '@plinth/client';

/** A run that a tab shows, and the sequence of the last event that it has. */
export interface Followed {
  readonly sessionId: string;
  readonly runId: string;
  readonly after: number;
}

/** What a tab tells the hub. */
export type ToHub =
  | {
      readonly kind: 'session';
      /** Undefined when no user is signed in. */
      readonly token: string | undefined;
      readonly clientId: string;
      /** The one that the sign-in works in. */
      readonly tenantId: string | undefined;
      readonly language: string;
      /** A lock that the tab holds while it lives. */
      readonly lock: string;
    }
  | { readonly kind: 'follow'; readonly run: Followed }
  | { readonly kind: 'unfollow'; readonly runId: string }
  | { readonly kind: 'leave' };

export type ConnectionState = 'connected' | 'reconnecting';

/** What the hub tells a tab. */
export type FromHub =
  | HarnessNews
  | { readonly kind: 'connection'; readonly state: ConnectionState }
  /** The run is not there any more, or not the user's. */
  | { readonly kind: 'gone'; readonly runId: string; readonly message: string }
  /** The service refuses the stream: the sign-in or the permission has ended. */
  | { readonly kind: 'refused' };
