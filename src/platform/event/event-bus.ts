import { EventEmitter } from 'node:events';
import { z } from 'zod';
import { AsyncLocalStorage } from 'node:async_hooks';

/**
 * The events that processes send each other. An event is a hint that something in the database has changed: it may be lost,
 * so a listener also polls the database.
 */
export const events = {
  /** Users, roles, clients or the tenant itself have changed: sign-ins and permissions must be read again. */
  'access.changed': z.object({ tenantId: z.string().optional() }),
  /** The parsing of this attachment was cancelled, or the attachment was deleted. */
  'attachment.abandoned': z.object({ tenantId: z.string(), attachmentId: z.number() }),
  /** The turn that runs in this chat session should stop. */
  'chat.stop': z.object({ tenantId: z.string(), sessionId: z.number() }),
  /** A cancel of this run of the harness was requested: its owner reads the row. */
  'harness.cancel': z.object({ tenantId: z.string(), runId: z.string() }),
  /** The requests that wait for a decision of the user have changed. */
  'harness.inbox': z.object({ tenantId: z.string(), userId: z.number() }),
  /** The run's events reach this number; of the release before, without its user. */
  'harness.event': z.object({
    tenantId: z.string(),
    runId: z.string(),
    userId: z.number().optional(),
    sequence: z.number(),
  }),
  /** A stored stream has new frames, or has ended. */
  'stream.frames': z.object({ tenantId: z.string(), streamId: z.string() }),
  /**
   * A key or an address of a model service cools down; 0 milliseconds end that. Nothing in the database
   * says so: a process that misses it finds out by its own calls.
   */
  'upstream.cooldown': z.object({
    origin: z.string(),
    kind: z.enum(['key', 'circuit']),
    place: z.string(),
    reason: z.enum(['busy', 'refused', 'failing']),
    milliseconds: z.number(),
  }),
} satisfies Record<string, z.ZodType>;

export type EventName = keyof typeof events;
export type EventData<Name extends EventName> = z.output<(typeof events)[Name]>;
type EventListener<Name extends EventName> = (data: EventData<Name>) => void;

/** Emitted in this process after events may have been lost. */
const RESUMED = Symbol('resumed');

/** Carries events to every process, the publishing one included. */
export abstract class EventBus {
  /** The listeners of this process. */
  protected readonly emitter = new EventEmitter().setMaxListeners(0);

  /** Resolves when the event is handed over; never throws, because an event is only a hint. */
  abstract publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void>;

  /** Returns the way to unsubscribe. Listeners must not throw. */
  subscribe<Name extends EventName>(name: Name, listener: EventListener<Name>): () => void {
    this.emitter.on(name, listener);
    return () => this.emitter.off(name, listener);
  }

  /**
   * Calls the listener when events arrive again after a time in which those of other processes were lost: it asks the
   * database at once. Returns the way to unsubscribe. Listeners must not throw.
   */
  onResumed(listener: () => void): () => void {
    this.emitter.on(RESUMED, listener);
    return () => this.emitter.off(RESUMED, listener);
  }

  protected resumed(): void {
    this.emitter.emit(RESUMED);
  }

  async close(): Promise<void> {
    this.emitter.removeAllListeners();
  }
}

/** Events within the one process of the embedded set-up. */
export class InProcessEventBus extends EventBus {
  /** Runs listeners outside the request and the tenant of the publisher, as over Redis. */
  private readonly outside = AsyncLocalStorage.snapshot();

  override async publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void> {
    this.outside(() => this.emitter.emit(name, data));
  }
}
