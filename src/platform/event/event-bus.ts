import { z } from 'zod';

/**
 * What processes tell each other. An event is a hint that something in the database has changed: it may be lost,
 * so whoever listens also looks at the database from time to time.
 */
export const events = {
  /** Users, roles, clients or the tenant itself have changed: sign-ins and permissions must be asked anew. */
  'access.changed': z.object({ tenantId: z.string().optional() }),
  /** Nobody wants this attachment parsed any more: it was cancelled or deleted. */
  'attachment.abandoned': z.object({ tenantId: z.string(), attachmentId: z.number() }),
  /** The turn that runs in this chat session should stop. */
  'chat.stop': z.object({ tenantId: z.string(), sessionId: z.number() }),
  /** Somebody wants this run of the harness to end: its owner looks at the row. */
  'harness.cancel': z.object({ tenantId: z.string(), runId: z.string() }),
  /** The run's events reach this number. */
  'harness.event': z.object({ tenantId: z.string(), runId: z.string(), sequence: z.number() }),
} satisfies Record<string, z.ZodType>;

export type EventName = keyof typeof events;
export type EventData<Name extends EventName> = z.output<(typeof events)[Name]>;
export type EventListener<Name extends EventName> = (data: EventData<Name>) => void;

/** Carries events to every process, the publishing one included. */
export abstract class EventBus {
  /** Resolves when the event is handed over; never throws, because an event is only a hint. */
  abstract publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void>;
  /** Returns the way to unsubscribe. Listeners must not throw. */
  abstract subscribe<Name extends EventName>(name: Name, listener: EventListener<Name>): () => void;
  abstract close(): Promise<void>;
}
