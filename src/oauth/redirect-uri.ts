/** Schemes that a browser runs, reads from a disk or speaks itself, so that no program can have them. */
const RESERVED_SCHEMES = new Set([
  ...['javascript', 'vbscript', 'data', 'blob', 'file', 'filesystem', 'about', 'view-source'],
  ...['http', 'ftp', 'ws', 'wss', 'mailto', 'tel', 'sms', 'intent'],
]);
const LOOPBACK = /^(localhost|127\.0\.0\.1|\[::1\])$/;

function isLoopback({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && LOOPBACK.test(hostname);
}

/** Whether a client can be answered there: https, http to the computer of the person, or a scheme of a program (RFC 8252, 7). */
export function isRedirectUri(uri: string): boolean {
  const url = URL.parse(uri);
  if (!url || uri.includes('#') || url.username !== '' || url.password !== '') return false;
  if (url.protocol === 'https:' || isLoopback(url)) return true;
  return !RESERVED_SCHEMES.has(url.protocol.slice(0, -1)) && uri.includes(':/');
}

/** Whether it is one of the registered addresses: the same text but for the port of a loopback address (RFC 8252, 7.3). */
export function isRegisteredUri(registered: readonly string[], uri: string): boolean {
  return isRedirectUri(uri) && registered.some((one) => one === uri || differInPort(one, uri));
}

function differInPort(one: string, other: string): boolean {
  const [first, second] = [URL.parse(one), URL.parse(other)];
  if (!first || !second || !isLoopback(first) || !isLoopback(second)) return false;
  first.port = '';
  second.port = '';
  return first.href === second.href;
}

/** Where the person is led back to, in short, and whether that is their own computer. */
export function destinationOf(uri: string): { readonly host: string; readonly isLocal: boolean } {
  const url = new URL(uri);
  if (url.protocol === 'https:') return { host: url.host, isLocal: false };
  return { host: isLoopback(url) ? url.host : url.protocol, isLocal: true };
}

/** The address with the parameters of an answer. */
export function withParameters(
  uri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const url = new URL(uri);
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) url.searchParams.set(name, value);
  }
  return url.href;
}
