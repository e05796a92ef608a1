import { createPlinth } from '@plinth/client';
import { Hub } from './hub';
import type { Tab } from './hub';
import type { ToHub } from './messages';

/** The hub of all tabs of a browser. The token arrives by message and is kept only in memory. */
let session: { token: string | undefined; clientId: string; language: string } | undefined;
const plinth = createPlinth({
  token: () => session?.token,
  clientId: () => session?.clientId ?? '',
  language: () => session?.language ?? 'en',
});
const hub = new Hub(plinth);

// A tab connects; the event contains its port.
addEventListener('connect', (event) => {
  const port = event instanceof MessageEvent ? event.ports[0] : undefined;
  if (!port) return;
  const tab: Tab = { post: (message) => port.postMessage(message) };
  let watched = false;
  port.onmessage = ({ data }: MessageEvent<ToHub>) => {
    if (data.kind === 'session') {
      const { token, clientId, language, lock } = data;
      session = { token, clientId, language };
      // A crashed tab sends no message, but its lock is released. Locks exist only in secure contexts.
      if (!watched && 'locks' in navigator) {
        watched = true;
        void navigator.locks.request(lock, () => hub.leave(tab));
      }
    }
    hub.receive(tab, data);
  };
});
