import { client } from './generated/client.gen.js';
import { baseOf, keepSettings } from './settings.js';
import type { ClientSettings } from './settings.js';

/** Says how to reach the server and who calls. Applies to every function from the next call on. */
export function configure(settings: ClientSettings): void {
  keepSettings(settings);
  client.setConfig({ baseUrl: baseOf(settings) });
}
