import { AsyncLocalStorage } from 'node:async_hooks';
import { EventBus } from '../event-bus.js';
import type { EventData, EventName } from '../event-bus.js';

/** Events within the one process of the embedded set-up. */
export class InProcessEventBus extends EventBus {
  /** Runs listeners outside the request and the tenant of the publisher, as over Redis. */
  private readonly outside = AsyncLocalStorage.snapshot();

  override async publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void> {
    this.outside(() => this.emitter.emit(name, data));
  }
}
