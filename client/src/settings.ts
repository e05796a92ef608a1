/** How to reach the server, and who calls: the holder of an API key, or a signed-in user. */
export interface PlinthSettings {
  /** Address of the server, including its base path. Defaults to the address of the page. */
  readonly baseUrl?: string;
  /** API key, used by programs instead of `token` and `clientId`. */
  readonly apiKey?: string;
  /** Returns the sign-in token; undefined before signing in. */
  readonly token?: () => string | undefined;
  /** Id of the client that signs in. */
  readonly clientId?: () => string;
  /** Returns the Accept-Language header, such as `en` or `zh-CN`. Defaults to the browser's language. */
  readonly language?: () => string;
  /** Runs before the error is thrown when the sign-in has ended or the key is invalid. */
  readonly onUnauthenticated?: () => void;
}

/** The server and the caller of one instance. */
export class Connection {
  readonly baseUrl: string;

  constructor(private readonly settings: PlinthSettings) {
    this.baseUrl = settings.baseUrl?.replace(/\/+$/, '') ?? '';
  }

  addressOf(path: string): string {
    return `${this.baseUrl}${path}`;
  }

  /** Adds the headers that identify the caller. Headers that the call has set are kept. */
  addCallerHeaders(headers: Headers): void {
    const { apiKey, token, clientId, language } = this.settings;
    const bearer = apiKey ?? token?.();
    if (bearer && !headers.has('Authorization')) headers.set('Authorization', `Bearer ${bearer}`);
    const client = clientId?.();
    if (client && !headers.has('Clientid')) headers.set('Clientid', client);
    const acceptLanguage = language?.();
    if (acceptLanguage && !headers.has('Accept-Language'))
      headers.set('Accept-Language', acceptLanguage);
  }

  reportUnauthenticated(): void {
    this.settings.onUnauthenticated?.();
  }
}
