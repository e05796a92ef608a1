/** The server's description of a request that it refused or that failed. */
export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
  readonly status: number;
  readonly requestId?: string | undefined;
}

/** The server answered with a failure or with a body that cannot be read. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** Code from the envelope; the HTTP status if the answer has no envelope. */
  readonly code: number;
  /** Details for handling the failure; null for most failures. */
  readonly data: unknown;
  /** HTTP status of the answer. */
  readonly status: number;
  /** Identifies the request in the server's log. */
  readonly requestId: string | undefined;

  constructor({ code, message, data, status, requestId }: Failure) {
    super(message);
    this.code = code;
    this.data = data;
    this.status = status;
    this.requestId = requestId;
  }
}

/** The server cannot be reached, or the connection was lost before the answer was complete. */
export class ConnectionError extends Error {
  override readonly name = 'ConnectionError';
}
