import { createHash } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import type { Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Longest path of a Unix domain socket on Linux is 107 bytes, on macOS 103. */
const MAX_SOCKET_PATH_BYTES = 103;

export class DirectoryInUseError extends Error {
  override readonly name = 'DirectoryInUseError';

  constructor(directory: string) {
    super(
      `Another Plinth process uses ${directory}. The embedded database serves one process: stop the other one, ` +
        'set another DATA_DIR, or set DATABASE_URL to share a PostgreSQL server.',
    );
  }
}

/**
 * Locks a directory for this process by listening on a socket in it. The system ends the lock with the
 * process, also after kill -9, and it holds between containers that share the directory.
 */
export async function lockDirectory(directory: string): Promise<() => Promise<void>> {
  const path = socketPath(directory);
  const server = (await listen(path)) ?? (await takeOver(path, directory));
  server.unref();
  return async () => {
    await closed(server);
  };
}

/**
 * Replaces the socket of a process that has ended. A second socket, which is there only meanwhile, keeps others from doing
 * so at the same time: one of them could remove the socket that this process has just made.
 */
async function takeOver(path: string, directory: string): Promise<Server> {
  const gatePath = path.replace(/\.sock$/, '.take');
  const gate = (await listen(gatePath)) ?? (await replaced(gatePath));
  if (!gate) throw new DirectoryInUseError(directory);
  try {
    const server = await replaced(path);
    if (!server) throw new DirectoryInUseError(directory);
    return server;
  } finally {
    await closed(gate);
  }
}

/** Replaces a stale socket; undefined if a process listens on it. */
async function replaced(path: string): Promise<Server | undefined> {
  if (await answers(path)) return undefined;
  await rm(path, { force: true });
  return listen(path);
}

function closed(server: Server): Promise<unknown> {
  return new Promise((resolve) => server.close(resolve));
}

function listen(path: string): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(undefined);
      else reject(error);
    });
    server.listen(path, () => resolve(server));
  });
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

function socketPath(directory: string): string {
  const path = join(directory, 'plinth.sock');
  if (Buffer.byteLength(path) <= MAX_SOCKET_PATH_BYTES) return path;
  const name = createHash('sha256').update(directory).digest('hex').slice(0, 16);
  return join(tmpdir(), `plinth-${name}.sock`);
}
