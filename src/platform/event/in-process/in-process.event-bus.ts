import { AsyncLocalStorage } from 'node:async_hooks';
import { EventEmitter } from 'node:events';
import { EventBus } from '../event-bus.js';
import type { EventData, EventListener, EventName } from '../event-bus.js';

/** Events within the one process of the embedded set-up. */
export class InProcessEventBus extends EventBus {
  private readonly emitter = new EventEmitter().setMaxListeners(0);

  /** As over Redis, a listener sees nothing of the request or the tenant of the publisher. */
  private readonly outside = AsyncLocalStorage.snapshot();

  override async publish<Name extends EventName>(name: Name, data: EventData<Name>): Promise<void> {
    this.outside(() => this.emitter.emit(name, data));
  }

  override subscribe<Name extends EventName>(
    name: Name,
    listener: EventListener<Name>,
  ): () => void {
    this.emitter.on(name, listener);
    return () => this.emitter.off(name, listener);
  }

  override async close(): Promise<void> {
    this.emitter.removeAllListeners();
  }
}
