import { ApiError, ConnectionError } from '@plinth/client';
import type { ChatEvent, ChatSource, FailedFile, FollowOptions } from '@plinth/client';
import { signal } from '../app/signal';

export interface Call {
  readonly number: number;
  readonly name: string;
  readonly arguments: string;
  readonly state:
    | 'running'
    | 'done'
    | 'failed'
    | 'timeout'
    | 'stopped'
    | 'interrupted'
    | 'uncertain'
    | 'waiting';
  readonly summary: string;
  readonly durationMs: number | null;
}

/** A segment of an answer: text or a tool call. */
export type Segment =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'calls'; readonly calls: readonly Call[] };

export type TurnEnd =
  /** The service completed the turn. Its stored messages are loaded and replace it. */
  | { readonly kind: 'done' }
  /** The service refused the message, or the turn failed. */
  | { readonly kind: 'failed'; readonly error: unknown };

/** Visible state of an answer that is being written. */
export interface TurnView {
  readonly segments: readonly Segment[];
  readonly reasoning: string;
  /** Time that the model spent thinking before its first text. */
  readonly thinkingMs: number | undefined;
  readonly sources: readonly ChatSource[];
  /** Whether all, some or none of the knowledge bases could be searched. */
  readonly retrieval: 'whole' | 'incomplete' | 'failed';
  /** Files that could not be read; the answer is written without them. */
  readonly failedFiles: readonly FailedFile[];
  /** Number of failed connection attempts; 0 while connected. */
  readonly attempts: number;
  readonly end: TurnEnd | undefined;
}

export interface AttachedFile {
  readonly id: string;
  readonly name: string;
  readonly size: number;
  readonly type: string;
  /** Explains why the file cannot be read. */
  readonly reason?: string;
}

/** Description of a turn as plain data, so that other tabs can show it as well. */
export interface TurnOutline {
  readonly key: string;
  readonly sessionId: string;
  /** Id of the preceding message; null for none, undefined for the last one. */
  readonly after: string | null | undefined;
  /** Id of the newest earlier message. Newer ones are hidden until the turn ends. Absent while none is loaded. */
  readonly newest?: string;
  /** The question; absent if a stored question is answered again. */
  readonly question?: { readonly content: string; readonly files: readonly AttachedFile[] };
}

const NOTHING: TurnView = {
  segments: [],
  reasoning: '',
  thinkingMs: undefined,
  sources: [],
  retrieval: 'whole',
  failedFiles: [],
  attempts: 0,
  end: undefined,
};

/** Interval at which received pieces of an answer are rendered. */
const SHOW_MS = 50;
const FIRST_DELAY_MS = 500;
const MAX_ATTEMPTS = 6;

/** Opens the stream of an answer. */
type OpenStream = (
  options: Required<FollowOptions> & { readonly idempotencyKey: string },
) => AsyncIterable<ChatEvent>;

/** An answer that is being written in this tab or another one. It continues while other pages are shown. */
export class Turn {
  view: TurnView = NOTHING;
  /** Time at which this tab started to show the turn. */
  readonly since = Date.now();
  /** Time of the last change of the view. */
  shownAt = this.since;
  private readonly abort = new AbortController();
  private readonly changes = signal();
  private segments: Segment[] = [];
  private sources: ChatSource[] = [];
  private reasoning = '';
  private thinkingSince: number | undefined;
  private thinkingMs: number | undefined;
  private retrieval: TurnView['retrieval'] = 'whole';
  private failedFiles: readonly FailedFile[] = [];
  private timer: ReturnType<typeof setTimeout> | undefined;

  constructor(
    readonly outline: TurnOutline,
    /** Whether another tab owns the turn and sends its view. */
    readonly isRemote = false,
    /** What an answer that goes on has shown before. */
    earlier: readonly Segment[] = [],
  ) {
    this.segments = [...earlier];
    this.view = { ...NOTHING, segments: this.segments };
  }

  readonly subscribe = this.changes.subscribe;

  readonly current = (): TurnView => this.view;

  /** Closes the connection. Stops an answer only before it has begun. */
  close(): void {
    this.abort.abort();
  }

  show(view: TurnView): void {
    this.view = view;
    this.shownAt = Date.now();
    this.changes.emit();
  }

  /**
   * Sends the message and reads its answer, which resumes lost connections. Until the service responds, the message is sent
   * again; the idempotency key ensures that it is answered only once.
   */
  async run(open: OpenStream): Promise<void> {
    this.finish(await this.read(open));
  }

  private async read(open: OpenStream): Promise<TurnEnd> {
    const { signal } = this.abort;
    const idempotencyKey = this.outline.key;
    const onConnection: Required<FollowOptions>['onConnection'] = (state) => {
      const isLost = state === 'reconnecting';
      if (isLost || this.view.attempts > 0)
        this.show({ ...this.view, attempts: isLost ? this.view.attempts + 1 : 0 });
    };
    for (let attempts = 0; ; attempts += 1) {
      try {
        for await (const event of open({ signal, idempotencyKey, onConnection })) {
          this.collect(event);
        }
        return { kind: 'done' };
      } catch (error) {
        if (error instanceof ApiError) return { kind: 'failed', error };
        if (signal.aborted) return { kind: 'done' };
        if (!(error instanceof ConnectionError)) return { kind: 'failed', error };
        if (attempts >= MAX_ATTEMPTS) return { kind: 'failed', error };
        this.show({ ...this.view, attempts: attempts + 1 });
        await pause(FIRST_DELAY_MS * 2 ** attempts, signal);
      }
    }
  }

  private collect(event: ChatEvent): void {
    switch (event.event) {
      case 'content':
        if (event.reasoning_content) {
          this.thinkingSince ??= performance.now();
          this.reasoning += event.reasoning_content;
        }
        if (event.content !== '') this.addText(event.content);
        break;
      case 'files':
        this.failedFiles = event.files;
        break;
      case 'sources':
        this.sources = [...this.sources, ...event.sources];
        if (event.fallback) this.retrieval = 'failed';
        else if (event.incomplete) this.retrieval = 'incomplete';
        break;
      case 'tool_call':
        this.endThinking();
        this.addCall({ ...event, state: 'running', summary: '', durationMs: null });
        break;
      case 'tool_result':
        this.segments = this.segments.map((segment) =>
          segment.kind === 'text'
            ? segment
            : {
                kind: 'calls',
                calls: segment.calls.map((call) =>
                  call.number === event.number ? { ...call, ...event } : call,
                ),
              },
        );
        break;
      case 'turn':
      case 'tool_approval':
      case 'usage':
      case 'done':
        break;
    }
    this.timer ??= setTimeout(() => this.publish(), SHOW_MS);
  }

  private addText(text: string): void {
    this.endThinking();
    const last = this.segments.at(-1);
    if (last?.kind === 'text') {
      this.segments[this.segments.length - 1] = { kind: 'text', text: last.text + text };
    } else {
      this.segments.push({ kind: 'text', text: text.replace(/^\n+/, '') });
    }
  }

  private addCall(call: Call): void {
    const last = this.segments.at(-1);
    if (last?.kind === 'calls') {
      this.segments[this.segments.length - 1] = { kind: 'calls', calls: [...last.calls, call] };
    } else {
      this.segments.push({ kind: 'calls', calls: [call] });
    }
  }

  private endThinking(): void {
    if (this.thinkingSince === undefined || this.thinkingMs !== undefined) return;
    this.thinkingMs = performance.now() - this.thinkingSince;
  }

  private publish(end?: TurnEnd): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    const { reasoning, thinkingMs, sources, retrieval, failedFiles } = this;
    const segments = [...this.segments];
    const snapshot = { segments, reasoning, thinkingMs, sources, retrieval, failedFiles };
    this.show({ ...snapshot, attempts: 0, end });
  }

  private finish(end: TurnEnd): void {
    this.endThinking();
    this.publish(end);
  }
}

/** Whether the service reports that the retried message is still being answered. */
export function isInProgress(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.code !== 409) return false;
  return (error.data as { errorCode?: unknown } | null)?.errorCode === 'IDEMPOTENCY_IN_PROGRESS';
}

/** Resolves after the delay, or immediately when the signal aborts. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Creates an idempotency key. `crypto.randomUUID` is not available without HTTPS. */
export function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, '0'),
  ).join('');
}
