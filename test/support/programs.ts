import { spawn } from 'node:child_process';
import { tmpdir } from 'node:os';

/** What a program prints. It gets PATH and the given variables alone. Rejects with what it writes to its errors where it fails. */
export function runProgram(
  [command, ...args]: readonly [string, ...string[]],
  environment: Readonly<Record<string, string>>,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env['PATH'], TMPDIR: tmpdir(), ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let printed = '';
    let failed = '';
    child.stdout.on('data', (piece: Buffer) => (printed += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (failed += piece.toString()));
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(printed);
      else reject(new Error(`The program ended with ${String(code)}: ${failed}`));
    });
  });
}
