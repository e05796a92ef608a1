import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';

export interface ProgramOptions {
  readonly cwd?: string;
  /** Milliseconds after which the program is ended; without limit by default. */
  readonly timeout?: number;
  /** Whether what the program writes to its errors is part of what it prints. */
  readonly withErrors?: boolean;
}

/** A failure shows so many characters of what the program has written. */
const MAX_SHOWN_CHARS = 3_000;

/** What a program prints. It gets PATH, TMPDIR and the given variables alone. Rejects with its last output where it fails. */
export function runProgram(
  [command, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
  { cwd, timeout, withErrors = false }: ProgramOptions = {},
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      cwd,
      timeout,
      env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    let all = '';
    child.stdout.on('data', (piece: Buffer) => {
      printed += piece.toString();
      all += piece.toString();
    });
    child.stderr.on('data', (piece: Buffer) => (all += piece.toString()));
    child.once('error', reject);
    child.once('close', (code, signal) => {
      if (code === 0) resolve(withErrors ? all : printed);
      else
        reject(
          new Error(`${command} ended with ${code ?? signal}: ${all.slice(-MAX_SHOWN_CHARS)}`),
        );
    });
  });
}
