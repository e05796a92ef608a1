export interface ClientSettings {
  /** Address of the server, with the path below which it is served; without it that of the page. */
  readonly baseUrl?: string;
  /** The token of the sign-in; undefined before signing in. */
  readonly token: () => string | undefined;
  /** Id of the client that signs in. */
  readonly clientId: () => string;
  /** For Accept-Language, such as `en` or `zh-CN`; without it the browser's. */
  readonly language?: () => string;
  /** Runs when an answer says that the sign-in has ended, before the error is thrown. */
  readonly onUnauthenticated?: () => void;
}

let settings: ClientSettings | undefined;

export function keepSettings(given: ClientSettings): void {
  settings = given;
}

export function addressOf(path: string): string {
  return `${baseOf(settings)}${path}`;
}

export function baseOf(given: ClientSettings | undefined): string {
  return given?.baseUrl?.replace(/\/+$/, '') ?? '';
}

/** Adds what identifies the caller. A header that the call has set itself stays. */
export function addCallerHeaders(headers: Headers): void {
  if (!settings) throw new Error('Call configure() of @plinth/client first.');
  const token = settings.token();
  if (token && !headers.has('Authorization')) headers.set('Authorization', `Bearer ${token}`);
  if (!headers.has('Clientid')) headers.set('Clientid', settings.clientId());
  const language = settings.language?.();
  if (language && !headers.has('Accept-Language')) headers.set('Accept-Language', language);
}

export function reportUnauthenticated(): void {
  settings?.onUnauthenticated?.();
}
