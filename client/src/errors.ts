/** What the server says about a request that it has refused or failed. */
export interface Failure {
  readonly code: number;
  readonly message: string;
  readonly data: unknown;
  readonly status: number;
  readonly requestId?: string | undefined;
}

/** The server has answered, and the answer is a failure or cannot be read. */
export class ApiError extends Error {
  override readonly name = 'ApiError';
  /** Of the envelope; the HTTP status where the answer has no envelope. */
  readonly code: number;
  /** What a client needs to act on the failure; null for most. */
  readonly data: unknown;
  /** HTTP status. */
  readonly status: number;
  /** Names the request in the log of the server. */
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
