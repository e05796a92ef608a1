#!/usr/bin/env node
// Starts a program of the built service with the settings of memory that it needs. In a release this is the command `plinth`:
// `plinth` serves, `plinth <program> …` runs another one, such as password-reset.
import { spawn } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The environment in which a service gives back memory that it no longer uses (docs/OPERATIONS.md, Memory): with jemalloc where
 * Debian's package libjemalloc2 is installed, else with glibc, which keeps what lies between pieces in use.
 */
export function allocator() {
  const cpu = { x64: 'x86_64', arm64: 'aarch64' }[process.arch];
  const library = `/usr/lib/${cpu}-linux-gnu/libjemalloc.so.2`;
  return existsSync(library)
    ? {
        LD_PRELOAD: library,
        MALLOC_CONF: 'background_thread:true,dirty_decay_ms:5000,muzzy_decay_ms:0,narenas:2',
      }
    : { MALLOC_ARENA_MAX: '2', MALLOC_TRIM_THRESHOLD_: '131072' };
}

/** Of the service's Node, as in the Dockerfile: with V8's own 16 MB garbage collection takes a tenth more of a busy process. */
export const serviceFlags = ['--max-semi-space-size=32'];

/** Runs dist/src/<program>.js of a build with the given Node. Resolves with its exit code. */
export function launch(built, [program = 'main', ...args], node = process.execPath) {
  const file = join(built, 'src', `${program}.js`);
  if (!existsSync(file)) {
    console.error(`There is no program ${program}.`);
    return 2;
  }
  return run(node, [...serviceFlags, file, ...args], {
    ...allocator(),
    // A person reads the output, also through a pipe; a container logs JSON.
    LOG_FORMAT: 'text',
    // What Node has compiled is used again. A container does without: it starts seldom, and this takes 25 MB of memory.
    NODE_COMPILE_CACHE: join(built, 'compiled'),
    ...process.env,
  });
}

/**
 * Runs a program in the foreground and resolves with its exit code; this process outlives it.
 * A terminal sends Ctrl-C to the program by itself; any other signal is passed on.
 */
export function run(command, args, environment = process.env) {
  const child = spawn(command, args, { env: environment, stdio: 'inherit' });
  const inTerminal = process.stdin.isTTY || process.stdout.isTTY || process.stderr.isTTY;
  const handlers = {
    SIGINT: () => {
      if (!inTerminal) child.kill('SIGINT');
    },
    SIGTERM: () => child.kill('SIGTERM'),
    SIGHUP: () => child.kill('SIGTERM'),
  };
  for (const [signal, handler] of Object.entries(handlers)) process.on(signal, handler);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
      resolve(code ?? 128 + constants.signals[signal]);
    });
  });
}

if (realpathSync(process.argv[1] ?? '.') === fileURLToPath(import.meta.url)) {
  const built = fileURLToPath(new URL('dist', import.meta.url));
  process.exitCode = await launch(built, process.argv.slice(2));
}
