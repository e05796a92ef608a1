import robotsParser from 'robots-parser';
import { AddressRefusedError, USER_AGENT } from './fetch.js';
import type { WebFetch } from './fetch.js';

const MAX_ROBOTS_BYTES = 512 * 1_024;

/** What robots.txt says of a site (RFC 9309): what may be read, how slowly, and where the sitemaps are. */
export interface RobotRules {
  readonly allows: (address: string) => boolean;
  /** Pause between two requests that the site asks for; 0: none. */
  readonly delayMs: number;
  readonly sitemaps: readonly string[];
}

/** The package is CommonJS, which its types do not say. */
const readRobotsFile = robotsParser as typeof robotsParser & typeof robotsParser.default;

/** A site without the file allows everything; one that cannot answer allows nothing: AddressRefusedError. */
export async function readRobots(
  web: WebFetch,
  site: string | URL,
  signal: AbortSignal,
): Promise<RobotRules> {
  const address = new URL('/robots.txt', site).href;
  const { response } = await web.get(address, signal);
  const isMissing = response.status >= 400 && response.status < 500;
  if (!isMissing && response.status !== 200) {
    response.discard();
    throw new AddressRefusedError(response.status);
  }
  const text = isMissing ? '' : await response.text(MAX_ROBOTS_BYTES);
  if (isMissing) response.discard();
  const robots = readRobotsFile(address, text);
  return {
    allows: (target) => robots.isAllowed(target, USER_AGENT) !== false,
    delayMs: (robots.getCrawlDelay(USER_AGENT) ?? 0) * 1_000,
    sitemaps: robots.getSitemaps(),
  };
}
