import { createClient, createConfig } from './generated/client/index.js';
import * as operations from './generated/sdk.gen.js';
import { clientConfig } from './runtime.js';
import { Connection } from './settings.js';
import type { PlinthSettings } from './settings.js';
import { streamsOf } from './streams.js';
import type { Streams } from './streams.js';
import { uploadsOf } from './uploads.js';
import type { Uploads } from './uploads.js';

/** The client for one server and one caller: a function per operation, stream readers and uploads. */
export type Plinth = typeof operations & Streams & Uploads;

/** Instances are independent of each other. No request is sent before the first function call. */
export function createPlinth(settings: PlinthSettings = {}): Plinth {
  const connection = new Connection(settings);
  const client = createClient(createConfig(clientConfig(connection)));
  const bound = Object.entries(operations).map(([name, operation]) => {
    const call = operation as (options: object) => unknown;
    return [name, (options?: object) => call({ ...options, client })];
  });
  return {
    ...(Object.fromEntries(bound) as typeof operations),
    ...streamsOf(connection),
    ...uploadsOf(connection),
  };
}
