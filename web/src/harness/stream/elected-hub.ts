import { plinth } from '../../app/plinth';
import { Hub } from './hub';
import type { Tab } from './hub';
import type { FromHub, ToHub } from './messages';

const NAME = 'plinth.stream';

/** Messages between the tabs. */
type Message =
  | { readonly kind: 'elected' }
  | { readonly kind: 'to-hub'; readonly from: string; readonly message: ToHub }
  | { readonly kind: 'from-hub'; readonly to: string; readonly message: FromHub };

/**
 * One hub for all tabs of a browser without shared workers. The tab that holds the lock is the hub; the next one
 * takes over when it closes. The new hub has no state, so `onElected` makes each tab send its state again.
 */
export class ElectedHub {
  private readonly channel = new BroadcastChannel(NAME);
  private readonly tabs = new Map<string, Tab>();
  private hub: Hub | undefined;

  /** `id` identifies the tab and the lock that it holds while it is open. */
  constructor(
    private readonly id: string,
    take: (message: FromHub) => void,
    onElected: () => void,
  ) {
    this.tabs.set(id, { post: take });
    this.channel.onmessage = ({ data }: MessageEvent<Message>) => {
      if (data.kind === 'elected') onElected();
      else if (data.kind === 'to-hub') this.hub?.receive(this.tabOf(data.from), data.message);
      else if (data.to === id) take(data.message);
    };
    void navigator.locks.request(NAME, () => {
      this.hub = new Hub(plinth);
      this.post({ kind: 'elected' });
      onElected();
      return new Promise<never>(() => undefined);
    });
  }

  send(message: ToHub): void {
    if (this.hub) this.hub.receive(this.tabOf(this.id), message);
    else this.post({ kind: 'to-hub', from: this.id, message });
  }

  private post(message: Message): void {
    this.channel.postMessage(message);
  }

  private tabOf(id: string): Tab {
    const existingTab = this.tabs.get(id);
    if (existingTab) return existingTab;
    const tab: Tab = { post: (message) => this.post({ kind: 'from-hub', to: id, message }) };
    this.tabs.set(id, tab);
    // A crashed tab sends no message, but its lock is released.
    void navigator.locks.request(id, () => {
      this.tabs.delete(id);
      this.hub?.leave(tab);
    });
    return tab;
  }
}
