export interface SandboxRequest {
  /** The canonical path of the workspace's root: what the command may write, and where it starts. */
  readonly workspace: string;
  readonly command: string;
  readonly timeoutMs: number;
  /** Ends the command when it aborts. */
  readonly signal: AbortSignal;
  /** Called with every piece of output, also with those that are not kept; awaited before more is read. Must not fail. */
  readonly onOutput?: (piece: Buffer) => Promise<void> | void;
}

/** How a command ended that was started. Nothing of it runs any more. */
export interface SandboxResult {
  /** Null when the command did not end by itself. 128 + n for a command that signal n has ended. */
  readonly exitCode: number | null;
  /** The signal that has ended the command, as far as the exit code tells; SIGKILL when it was stopped. */
  readonly signal: string | null;
  /** Stopped at its time-out. */
  readonly timedOut: boolean;
  /** Stopped because the signal aborted. */
  readonly cancelled: boolean;
  /** Stopped for having more than 256 processes and threads. */
  readonly tooManyProcesses: boolean;
  /** Both streams in the order in which they were written: all, or the first 5 MiB and a line that says so. */
  readonly output: Buffer;
  /** The first and the last bytes of the output. */
  head(bytes: number): Buffer;
  tail(bytes: number): Buffer;
  /** What the command has written. */
  readonly outputBytes: number;
  /** Whether the end of `output` is missing. */
  readonly truncated: boolean;
  readonly durationMs: number;
}
