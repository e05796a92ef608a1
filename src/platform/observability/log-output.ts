import { setTimeout as sleep } from 'node:timers/promises';
import type { Writable } from 'node:stream';
import type { DestinationStream } from 'pino';

/** Where finished lines go: the standard output, or what a test hands over. */
export type LogDestination = DestinationStream;

/** Bytes of lines that wait for a reader; where Node counts characters, a little more. */
const MAX_WAITING = 16 * 2 ** 20;

/** Errors of an output whose reader is gone. */
const GONE = new Set(['EPIPE', 'ECONNRESET', 'EBADF', 'ERR_STREAM_DESTROYED']);

/**
 * Writes log lines to the standard output. A stalled reader of a pipe does not block the process: about 16 MiB are
 * buffered. Later lines are dropped and counted in the next line that fits, as are lines that a full disk rejects. A
 * reader that has gone ends the log and nothing else. Node writes to a pipe at once while it has room, so that a process
 * that ends loses nothing a reader could have taken; what still waits is given time by `outputTaken`.
 *
 * (pino's own destination, sonic-boom 4, repeats a failing write without end when a process ends, and never ends it.)
 */
export class LogOutput implements LogDestination {
  private hasGone = false;
  private dropped = 0;

  constructor(
    private readonly output: Writable,
    private readonly format: (line: string) => string,
  ) {
    output.on('error', ({ code = '' }: NodeJS.ErrnoException) => {
      if (GONE.has(code)) this.hasGone = true;
      else this.dropped += 1;
    });
  }

  write(line: string): void {
    if (this.hasGone) return;
    if (this.output.writableLength > MAX_WAITING) {
      this.dropped += 1;
      return;
    }
    if (this.dropped > 0) {
      this.output.write(this.format(noticeOf(this.dropped)));
      this.dropped = 0;
    }
    this.output.write(this.format(line));
  }
}

/** Resolves when the reader has taken what was written, or has gone, or after the limit in milliseconds. */
export async function outputTaken(
  limitMs: number,
  output: Writable = process.stdout,
): Promise<void> {
  if (output.writableLength === 0) return;
  const taken = new Promise<void>((resolve) => void output.write('', () => resolve()));
  const over = new AbortController();
  const tooLong = sleep(limitMs, undefined, { signal: over.signal }).catch(() => undefined);
  await Promise.race([taken, tooLong]);
  over.abort();
}

function noticeOf(dropped: number): string {
  const time = new Date().toISOString();
  const msg = 'Log lines dropped: the output did not accept them';
  return `${JSON.stringify({ level: 'warn', time, msg, dropped })}\n`;
}

/** Fields that the start of a line shows by themselves. */
const SHOWN_FIRST = new Set(['time', 'level', 'msg', 'err', 'pid', 'hostname']);

/** One JSON log line as text for people: time, level, message, then key=value; an error's stack below it. */
export function asText(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { time, level, msg = '', err } = fields;
  const rest = Object.entries(fields)
    .filter(([name, value]) => !SHOWN_FIRST.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => ` ${name}=${shown(value)}`);
  const start = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)}`;
  return `${start} ${oneLine(String(msg))}${rest.join('')}\n${stackOf(err)}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=]|[^\x20-\x7e\u00a0-\uffff]|^$/.test(text) ? JSON.stringify(text) : text;
}

/** Keeps what a stranger sent from looking like lines of the log. */
function oneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]+/g, ' ');
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message, cause } = error as { stack?: string; message?: string; cause?: unknown };
  const lines = (stack ?? message ?? '').split('\n');
  const own = lines.map((line) => `    ${oneLine(line)}\n`).join('');
  const below = stackOf(cause);
  return below === '' ? own : `${own}    caused by\n${below}`;
}
