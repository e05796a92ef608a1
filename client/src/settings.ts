/** How to reach the server, and who calls: the holder of an API key, or a signed-in user. */
export interface PlinthSettings {
  /** Address of the server, with the path below which it is served; without it that of the page. */
  readonly baseUrl?: string;
  /** An API key. Programs have one in place of `token` and `clientId`. */
  readonly apiKey?: string;
  /** The token of the sign-in; undefined before signing in. */
  readonly token?: () => string | undefined;
  /** Id of the client that signs in. */
  readonly clientId?: () => string;
  /** For Accept-Language, such as `en` or `zh-CN`; without it the browser's. */
  readonly language?: () => string;
  /** Runs when an answer says that the sign-in has ended or the key is not valid, before the error is thrown. */
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

  /** Adds what identifies the caller. A header that the call has set itself stays. */
  addCallerHeaders(headers: Headers): void {
    const { apiKey, token, clientId, language } = this.settings;
    const bearer = apiKey ?? token?.();
    if (bearer && !headers.has('Authorization')) headers.set('Authorization', `Bearer ${bearer}`);
    const client = clientId?.();
    if (client && !headers.has('Clientid')) headers.set('Clientid', client);
    const wanted = language?.();
    if (wanted && !headers.has('Accept-Language')) headers.set('Accept-Language', wanted);
  }

  reportUnauthenticated(): void {
    this.settings.onUnauthenticated?.();
  }
}
