import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { asMessage, msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import type { PageImage } from '../parser/index.js';
import {
  NoTesseractError,
  RecognitionTimeoutError,
  TesseractFailedError,
} from './recognition.errors.js';
import type { PageText, TextRecognition } from './text-recognition.js';

interface TesseractSettings {
  readonly program: string;
  /** Such as eng+deu. */
  readonly languages: string;
  readonly timeoutSeconds: number;
}

/** About 300 dots per inch of A4, for which tesseract is trained. */
const LONGEST_SIDE = 3_500;
/** More than any page holds. */
const LONGEST_TEXT = 4 * 1_024 * 1_024;
const LONGEST_REASON = 200;

/** Of one thread, because pages are read at the same time; nothing of this process's environment. */
const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin',
  OMP_THREAD_LIMIT: '1',
};

/** The program tesseract of the system, one process a page. */
export class TesseractRecognition implements TextRecognition {
  readonly format = 'text';
  readonly longestSide = LONGEST_SIDE;
  readonly key: string;

  constructor(private readonly settings: TesseractSettings) {
    const { program, languages } = settings;
    this.key = JSON.stringify(['tesseract', program, languages]);
  }

  async read({ page, bytes }: PageImage, signal: AbortSignal): Promise<PageText> {
    signal.throwIfAborted();
    const { program, languages, timeoutSeconds } = this.settings;
    const args = ['stdin', 'stdout', '-l', languages];
    const child = spawn(program, args, { env: ENVIRONMENT, stdio: ['pipe', 'pipe', 'pipe'] });
    const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
    const either = AbortSignal.any([signal, timeout]);
    const kill = () => void child.kill('SIGKILL');
    either.addEventListener('abort', kill);
    const closed = once(child, 'close') as Promise<[number | null]>;
    closed.catch(() => undefined);
    // A program that ends without reading its input; how it ended says more.
    child.stdin.on('error', () => undefined);
    child.stdin.end(bytes);
    const output: Buffer[] = [];
    let length = 0;
    child.stdout.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > LONGEST_TEXT) kill();
      else output.push(chunk);
    });
    let reason = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      reason = (reason + text).slice(0, LONGEST_REASON);
    });
    try {
      const [code] = await closed;
      signal.throwIfAborted();
      if (timeout.aborted) throw new RecognitionTimeoutError(page, timeoutSeconds);
      if (code !== 0) throw new TesseractFailedError(page, sentenceOf(reason));
      const text = Buffer.concat(output).toString('utf8');
      return { text, inputTokens: 0, outputTokens: 0 };
    } catch (error) {
      throw isMissing(error) ? new NoTesseractError() : error;
    } finally {
      either.removeEventListener('abort', kill);
      kill();
    }
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function sentenceOf(reason: string): Message {
  const line = reason.replace(/\s+/g, ' ').trim();
  if (line === '') return msg`it ended without a reason.`;
  return asMessage(/[.!?]$/.test(line) ? line : `${line}.`);
}
