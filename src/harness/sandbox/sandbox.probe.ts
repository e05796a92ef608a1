import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import type { AddressInfo, Server } from 'node:net';
import { join } from 'node:path';
import { BUBBLEWRAP } from './bubblewrap.js';
import type { LimitHolders } from './resource-limits.js';
import type { CommandLimits } from './resource-limits.js';
import {
  removeOldFolders,
  runInSandbox,
  SandboxUnavailableError,
  withTemporaryFolder,
} from './sandbox.run.js';
import type { SandboxPlace } from './sandbox.run.js';

const TIME_LIMIT_MS = 20_000;

/** Far more than the probe needs. */
const LIMITS: CommandLimits = {
  memoryBytes: 2 ** 30,
  diskBytes: 2 ** 30,
  freeBytes: 0,
  addedFiles: 1_000,
};

export interface ProbePlace extends Pick<SandboxPlace, 'hidden'> {
  /** Absolute paths that a command must not see. */
  readonly unseen: readonly string[];
}

/** Never routed (RFC 5737). */
const NOWHERE = '192.0.2.1';

/**
 * Checks the guarantees of the sandbox: prints a line for each that is broken. Its arguments are in files of the
 * workspace, so that nothing is put into the text of the command.
 */
const SCRIPT = String.raw`
exec 9>findings || exit 1
say() { printf '%s\n' "$1" >&9; }
read -r port <port; read -r outside <outside; read -r secret <secret
echo written >written || say 'cannot write in the workspace'
{ echo written >"$outside"; } 2>/dev/null
for path in /written /usr/written /etc/written /dev/written; do
  { echo written >"$path"; } 2>/dev/null && say "can write $path"
done
{ exec 3<>"/dev/tcp/127.0.0.1/$port"; } 2>/dev/null && say "reaches the machine's network"
{ exec 3<>/dev/udp/${NOWHERE}/53; } 2>/dev/null && say 'can send datagrams'
for file in /proc/[0-9]*/environ; do
  while IFS= read -r -d '' variable; do
    case "$variable" in
      PATH=/usr/local/bin:/usr/bin:/bin|HOME=/tmp/home|LANG=C.UTF-8|TERM=dumb|PWD=*|OLDPWD=*|SHLVL=*|_=*) ;;
      *) say "sees the variable ${'$'}{variable%%=*} in $file" ;;
    esac
  done <"$file"
done
IFS= read -r -d '' variable </proc/1/environ && say 'sees variables of the first process'
while IFS= read -r -d '' path; do [ -e "$path" ] && say "sees $path"; done <unseen
[ "$(cat .env 2>/dev/null)" = '' ] || say 'can read a secret file'
{ mkdir -p .git/hooks sub/.git; } 2>/dev/null
for name in core_pattern domainname; do
  [ -w "/proc/sys/kernel/$name" ] && say "can set kernel.$name"
done
chmod 4755 written 2>/dev/null && say 'can make a program run as its owner'
[ "$(ulimit -u)" -le 256 ] && [ "$(ulimit -n)" -le 1024 ] && [ "$(ulimit -d)" -le 4194304 ] || say 'has no limits'
say done
`;

export interface ProbeResult {
  /** Reason why sandboxes are unavailable, and how to fix it; null when they are available. */
  readonly reason: string | null;
  /** Mechanism that enforces the limits; null if the probe did not find out. */
  readonly limitsBy: LimitHolders | null;
}

/** Runs a real sandbox that tries to get out. */
export async function probeSandbox(place: ProbePlace, signal: AbortSignal): Promise<ProbeResult> {
  await removeOldFolders();
  const server = createServer((socket) => socket.destroy());
  let reached = 0;
  server.on('connection', () => (reached += 1));
  try {
    const port = await listen(server);
    const { findings, limitsBy } = await withTemporaryFolder((folder) =>
      explore(folder, { ...place, port }, signal),
    );
    if (reached > 0) findings.push("reaches the machine's network");
    const reason =
      findings.length === 0 ? null : `A command in the sandbox ${findings.join(', ')}.`;
    return { reason, limitsBy };
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof SandboxUnavailableError ? error.reason : (error as Error).message;
    const remedy = await remedyFor(why);
    return { reason: remedy === undefined ? why : `${remedy} (${why})`, limitsBy: null };
  } finally {
    server.close();
  }
}

async function explore(
  folder: string,
  place: ProbePlace & { readonly port: number },
  signal: AbortSignal,
): Promise<{ findings: string[]; limitsBy: LimitHolders | null }> {
  const workspace = join(folder, 'workspace');
  const outside = join(folder, 'outside');
  const secret = randomBytes(16).toString('hex');
  await mkdir(workspace, { mode: 0o700 });
  const files = {
    port: `${place.port}\n`,
    outside: `${outside}\n`,
    '.env': `SECRET=${secret}\n`,
    unseen: place.unseen.map((path) => `${path}\0`).join(''),
  };
  for (const [name, content] of Object.entries(files)) {
    await writeFile(join(workspace, name), content, { flag: 'wx', mode: 0o600 });
  }
  await writeFile(outside, 'untouched', { flag: 'wx', mode: 0o600 });
  const removed = join(folder, 'removed');
  const request = { workspace, command: SCRIPT, timeoutMs: TIME_LIMIT_MS, signal };
  const result = await runInSandbox(request, { hidden: place.hidden, removed, limits: LIMITS });
  signal.throwIfAborted();
  // Made by the command.
  const findingsText = await readFile(join(workspace, 'findings'), 'utf8').catch(() => '');
  const findings = findingsText.split('\n').slice(0, -1);
  if (findings.pop() !== 'done') {
    const why = result.exceeded ?? result.output.whole().toString().slice(0, 1_000);
    throw new Error(`The check ended early: ${why}`);
  }
  if ((await readFile(outside, 'utf8')) !== 'untouched') findings.push('can write outside');
  for (const path of ['.git', 'sub/.git']) {
    if (await exists(join(workspace, path))) findings.push(`can make a repository: ${path}`);
  }
  return { findings, limitsBy: result.limitsBy };
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve);
  });
  return (server.address() as AddressInfo).port;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

/** Tells the operator what to change; undefined when the cause is unknown. */
async function remedyFor(why: string): Promise<string | undefined> {
  if (!(await exists(BUBBLEWRAP))) {
    return `${BUBBLEWRAP} is missing: install Debian's package bubblewrap.`;
  }
  if ((await kernelParameter('kernel/unprivileged_userns_clone')) === '0') {
    return 'The kernel lets only root make user namespaces: set kernel.unprivileged_userns_clone=1 (sysctl).';
  }
  const none = (await kernelParameter('user/max_user_namespaces')) === '0';
  if (none || why.includes('max_*_namespaces')) {
    return 'The kernel allows no more user namespaces: set user.max_user_namespaces=10000 (sysctl).';
  }
  if ((await kernelParameter('kernel/apparmor_restrict_unprivileged_userns')) === '1') {
    return `AppArmor restricts user namespaces: give ${BUBBLEWRAP} a profile with "userns,", or set kernel.apparmor_restrict_unprivileged_userns=0 (sysctl).`;
  }
  if (/permitted|ermission|mount proc/.test(why)) {
    return 'The system refuses what a sandbox is made of. In a container allow user namespaces and a /proc of their own; with Docker: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined.';
  }
  return undefined;
}

async function kernelParameter(name: string): Promise<string | undefined> {
  return readFile(`/proc/sys/${name}`, 'utf8').then(
    (value) => value.trim(),
    () => undefined,
  );
}
