import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { Readable, Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { PROCESSES } from './resource-limits.js';
import { bytesOf, joined } from './workspace-scan.js';
import type { BytePath, Mount } from './workspace-scan.js';

/**
 * The system call filter of the sandbox, as the program that `bwrap --seccomp` loads: what namespaces and missing
 * capabilities leave open.
 * - No set-user-id and no set-group-id bit on any file: it would count outside of the sandbox, too.
 * - No sockets but local, IP and netlink ones: a network namespace does not hold vsock back.
 * - No kernel keyring, which has no namespace; no bpf and no perf events.
 * - No reaching into other processes: the first one of the sandbox is bwrap's.
 * - No io_uring and no openat2, of which a filter cannot see the arguments: programs fall back to the plain calls.
 */
export type FilteredArchitecture = 'x64' | 'arm64';

interface SystemCalls {
  /** The kernel's number of the architecture (linux/audit.h). */
  readonly architecture: number;
  /** Absent (ENOSYS). */
  readonly absent: readonly number[];
  readonly socket: number;
  /** Calls with the position of their permission bits. */
  readonly modes: readonly (readonly [call: number, position: number])[];
  /** Calls with the positions of their flags and of the permission bits, which count when a file is made. */
  readonly opens: readonly (readonly [call: number, flags: number, mode: number])[];
}

const CALLS: Readonly<Record<FilteredArchitecture, SystemCalls>> = {
  x64: {
    architecture: 0xc000003e,
    // add_key, request_key, keyctl, perf_event_open, bpf, io_uring_setup, _enter, _register, openat2,
    // ptrace, process_vm_readv, process_vm_writev, pidfd_getfd
    absent: [248, 249, 250, 298, 321, 425, 426, 427, 437, 101, 310, 311, 438],
    socket: 41,
    // creat, chmod, fchmod, mknod, mknodat, fchmodat, fchmodat2
    modes: [
      [85, 1],
      [90, 1],
      [91, 1],
      [133, 1],
      [259, 2],
      [268, 2],
      [452, 2],
    ],
    // open, openat
    opens: [
      [2, 1, 2],
      [257, 2, 3],
    ],
  },
  arm64: {
    architecture: 0xc00000b7,
    absent: [217, 218, 219, 241, 280, 425, 426, 427, 437, 117, 270, 271, 438],
    socket: 198,
    // mknodat, fchmod, fchmodat, fchmodat2
    modes: [
      [33, 2],
      [52, 1],
      [53, 2],
      [452, 2],
    ],
    opens: [[56, 2, 3]],
  },
};

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK. */
const SOCKET_FAMILIES = [1, 2, 10, 16];
const SET_ID_BITS = 0o6000;
/** O_CREAT and O_TMPFILE without O_DIRECTORY. */
const MAKES_A_FILE = 0o100 | 0o20000000;
/** Numbers from here on are calls of another kind of program (x32). */
const X32 = 0x4000_0000;

const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;

// Classic BPF (linux/bpf_common.h) and its answers (linux/seccomp.h).
const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_AT_LEAST = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;
const ALLOW = 0x7fff_0000;
const FAIL = 0x0005_0000;

const OFFSET_CALL = 0;
const OFFSET_ARCHITECTURE = 4;
const offsetOfArgument = (position: number) => 16 + 8 * position;

type Instruction = readonly [code: number, value: number, onTrue?: number, onFalse?: number];

/** Undefined on a processor that the filter does not know. */
export function seccompFilter(architecture: string = process.arch): Buffer | undefined {
  if (architecture !== 'x64' && architecture !== 'arm64') return undefined;
  const calls = CALLS[architecture];
  return assembled([
    [LOAD, OFFSET_ARCHITECTURE],
    [JUMP_EQUAL, calls.architecture, 1],
    fail(ENOSYS),
    [LOAD, OFFSET_CALL],
    [JUMP_AT_LEAST, X32, 0, 1],
    fail(ENOSYS),
    ...calls.absent.flatMap((call) => onCall(call, [fail(ENOSYS)])),
    ...onCall(calls.socket, [
      [LOAD, offsetOfArgument(0)],
      ...SOCKET_FAMILIES.flatMap((family): Instruction[] => [[JUMP_EQUAL, family, 0, 1], allow()]),
      fail(EAFNOSUPPORT),
    ]),
    ...calls.modes.flatMap(([call, position]) => onCall(call, refuseSetId(position))),
    ...calls.opens.flatMap(([call, flags, mode]) =>
      onCall(call, [
        [LOAD, offsetOfArgument(flags)],
        [JUMP_ANY_BIT, MAKES_A_FILE, 1],
        allow(),
        ...refuseSetId(mode),
      ]),
    ),
    allow(),
  ]);
}

/** Everything in `instructions` ends the filter, so that the number of the call is still loaded after them. */
function onCall(call: number, instructions: readonly Instruction[]): Instruction[] {
  return [[JUMP_EQUAL, call, 0, instructions.length], ...instructions];
}

function refuseSetId(position: number): Instruction[] {
  return [
    [LOAD, offsetOfArgument(position)],
    [JUMP_ANY_BIT, SET_ID_BITS, 0, 1],
    fail(EPERM),
    allow(),
  ];
}

function allow(): Instruction {
  return [RETURN, ALLOW];
}

function fail(error: number): Instruction {
  return [RETURN, FAIL | error];
}

/** Both architectures are little-endian. */
function assembled(instructions: readonly Instruction[]): Buffer {
  const program = Buffer.alloc(instructions.length * 8);
  instructions.forEach(([code, value, onTrue = 0, onFalse = 0], index) => {
    const at = index * 8;
    program.writeUInt16LE(code, at);
    program.writeUInt8(onTrue, at + 2);
    program.writeUInt8(onFalse, at + 3);
    program.writeUInt32LE(value, at + 4);
  });
  return program;
}

/** File descriptors that bwrap inherits. */
export const DESCRIPTORS = {
  ...{ status: 3, go: 4, start: 5, arguments: 6, filter: 7, files: 8 },
} as const;

/** Descriptors of every sandbox: standard output, standard error, and the first three above. */
const PIPES = 5;

/** Line that the limiting shell writes to bwrap's standard error right before the command begins. */
export const BEGUN = 'plinth: the command begins';

/** The only environment that a command has, beside what its shell sets itself. */
export const ENVIRONMENT: Readonly<Record<string, string>> = {
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: '/tmp/home',
  LANG: 'C.UTF-8',
  TERM: 'dumb',
};

/**
 * Who a command seems to be when the service is root. Outside it is root without any of root's rights: the files it makes
 * belong to root, and it can change only files that root owns or that all users may write.
 */
const UNPRIVILEGED = 1_000;

const GIB = 2 ** 30;

/** Limits of each process of a command. */
const LIMITS = {
  dataKib: (4 * GIB) / 1_024,
  fileKib: GIB / 1_024,
  openFiles: 1_024,
};

/** Processor seconds beyond the time-out. */
const SPARE_SECONDS = 10;

/** Paths at which the sandbox mounts its own folders: a workspace cannot be one of them or contain one. */
const TAKEN = [
  '/',
  '/bin',
  '/dev',
  '/etc',
  '/lib',
  '/lib64',
  '/proc',
  '/sbin',
  '/sys',
  '/tmp',
  '/usr',
];
const TAKEN_WITH_ALL_BELOW = ['/dev/', '/etc/', '/proc/', '/sys/', '/tmp/home/'];

export interface SandboxLayout {
  readonly workspace: string;
  /** Mounts over paths of the workspace, in mounting order. */
  readonly mounts: readonly Mount[];
  /** Content that is mounted over each hidden, redacted or newer file. */
  readonly copies: ReadonlyMap<BytePath, string>;
  /** Absolute folders below /usr that are not shown. */
  readonly hidden: readonly string[];
  readonly asRoot: boolean;
}

type File = readonly [path: string, content: string];

/** Files that the sandbox has of its own. A command learns nothing of the host from those in /etc. */
export function ownFiles({ asRoot }: Pick<SandboxLayout, 'asRoot'>): File[] {
  const id = asRoot ? UNPRIVILEGED : (process.getuid?.() ?? UNPRIVILEGED);
  const group = asRoot ? UNPRIVILEGED : (process.getgid?.() ?? UNPRIVILEGED);
  return [
    [
      '/etc/passwd',
      `sandbox:x:${id}:${group}::/tmp/home:/bin/bash\nnobody:x:65534:65534::/:/bin/false\n`,
    ],
    ['/etc/group', `sandbox:x:${group}:\nnogroup:x:65534:\n`],
    ['/etc/hosts', '127.0.0.1 localhost sandbox\n::1 localhost\n'],
    ['/etc/nsswitch.conf', 'passwd: files\ngroup: files\nhosts: files\n'],
    // A file that is hidden has its size and time of change, and so is not reported as changed.
    ['/tmp/home/.config/git/config', '[core]\n\tcheckStat = minimal\n\ttrustctime = false\n'],
  ];
}

/** Whether a workspace at this path would lie over what the sandbox itself is made of. */
export function isTaken(workspace: string): boolean {
  return (
    TAKEN.includes(workspace) || TAKEN_WITH_ALL_BELOW.some((start) => workspace.startsWith(start))
  );
}

/** bwrap's options, each ended by a zero byte, as `--args` reads them. */
export function sandboxArguments(layout: SandboxLayout): Buffer {
  const options = [
    ...isolation(layout),
    ...system(layout),
    ...workspaceOf(layout),
    ...closing(layout),
  ];
  return Buffer.from(options.map((option) => `${option}\0`).join(''), 'latin1');
}

/**
 * Arguments of the shell that bwrap starts: it sets the limits and then becomes the shell of the command, which is an
 * argument that it never reads. Both streams of the command go to one pipe, in the order in which they are written; the
 * other pipe is for messages of the set-up.
 */
export function shellArguments(command: string, timeoutMs: number): string[] {
  const { dataKib, fileKib, openFiles } = LIMITS;
  const script = [
    // A limit that is already lower suffices.
    'limit() { ulimit "$1" "$2" 2>/dev/null || [ "$(ulimit "$1")" -le "$2" ] || exit 125; }',
    `limit -c 0; limit -n ${openFiles}; limit -f ${fileKib}; limit -d ${dataKib}; limit -t "$2"; limit -u ${PROCESSES}`,
    // Waits for the start signal, because bwrap also continues when the service has died.
    `read -r -N 1 <&${DESCRIPTORS.start} || exit 125`,
    // The next line closes the descriptor that holds the saved standard error.
    `echo '${BEGUN}' >&2`,
    // Closes descriptors that the service inherited.
    'for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -gt 2 ] && exec {fd}>&-; done 2>/dev/null',
    'exec /usr/bin/bash --noprofile --norc -c "$1" 2>&1',
  ].join('\n');
  const seconds = Math.ceil(timeoutMs / 1_000) + SPARE_SECONDS;
  const bash = ['/usr/bin/bash', '--noprofile', '--norc', '-c'];
  return [...bash, script, 'sandbox', command, String(seconds)];
}

function isolation({ asRoot }: SandboxLayout): string[] {
  const namespaces = ['user', 'pid', 'net', 'ipc', 'uts', 'cgroup-try'];
  const identity = ['--uid', String(UNPRIVILEGED), '--gid', String(UNPRIVILEGED)];
  return [
    ...namespaces.map((name) => `--unshare-${name}`),
    '--disable-userns',
    '--die-with-parent',
    '--new-session',
    ...['--cap-drop', 'ALL'],
    ...(asRoot ? identity : []),
    ...['--hostname', 'sandbox'],
    ...['--json-status-fd', String(DESCRIPTORS.status)],
    ...['--block-fd', String(DESCRIPTORS.go)],
    ...['--seccomp', String(DESCRIPTORS.filter)],
    ...Object.entries(ENVIRONMENT).flatMap(([name, value]) => ['--setenv', name, value]),
  ];
}

function system(layout: SandboxLayout): string[] {
  const links = ['bin', 'lib', 'lib64', 'sbin'];
  const ofHost = ['ld.so.cache', 'alternatives', 'ssl/certs', 'ssl/openssl.cnf'];
  return [
    ...['--ro-bind', '/usr', '/usr'],
    ...links.flatMap((name) => ['--symlink', `usr/${name}`, `/${name}`]),
    ...layout.hidden.flatMap((path) => ['--tmpfs', bytesOf(path)]),
    ...ofHost.flatMap((name) => ['--ro-bind-try', `/etc/${name}`, `/etc/${name}`]),
    ...['--proc', '/proc'],
    ...['--dev', '/dev'],
    ...['--size', String(GIB / 4), '--tmpfs', '/dev/shm'],
    ...['--size', String(GIB), '--tmpfs', '/tmp'],
    ...['--dir', '/tmp/home'],
    ...ownFiles(layout).flatMap(([path], index) => [
      ...['--ro-bind-data', String(DESCRIPTORS.files + index), path],
    ]),
  ];
}

function workspaceOf({ workspace, mounts, copies }: SandboxLayout): string[] {
  const root = bytesOf(workspace);
  const at = (path: BytePath) => joined(root, path);
  const over = ({ path, cover }: Mount): string[] => {
    switch (cover) {
      case 'pinned':
        return ['--bind', at(path), at(path)];
      case 'read-only':
        return ['--ro-bind', at(path), at(path)];
      case 'newer-file':
      case 'redacted-file':
      case 'hidden-file':
        return ['--ro-bind', bytesOf(copies.get(path) ?? '/dev/null'), at(path)];
      case 'hidden-folder':
        return ['--perms', '0000', '--tmpfs', at(path), '--remount-ro', at(path)];
    }
  };
  return ['--bind', root, root, ...mounts.flatMap(over)];
}

function closing({ workspace, hidden }: SandboxLayout): string[] {
  // /proc is read-only because a command that is root outside could set kernel parameters (measured).
  const readOnly = [...hidden.map(bytesOf), '/proc', '/dev', '/'];
  return [...readOnly.flatMap((path) => ['--remount-ro', path]), '--chdir', bytesOf(workspace)];
}

/** Debian's package. Looked for nowhere else: neither PATH nor a workspace can name another program. */
export const BUBBLEWRAP = '/usr/bin/bwrap';

const TERM_MS = 2_000;
/** A machine may be too busy to let a killed process end. */
const GONE_MS = 10_000;
const GONE_POLL_MS = 5;
const DRAIN_MS = 2_000;
/** Maximum length of bwrap's own error output. */
const MAX_ERROR_CHARS = 4_000;

export interface BubblewrapInput {
  /** bwrap's options, as `--args` reads them. */
  readonly options: Buffer;
  readonly filter: Buffer;
  /** Files for the descriptors from DESCRIPTORS.files on. */
  readonly files: readonly string[];
  readonly command: readonly string[];
}

/**
 * A sandbox that runs. The one place that starts bwrap: with no environment, because what its first process is given can
 * be read inside at /proc/1/environ, and with its options in a pipe, where no list of processes shows them.
 */
export class Bubblewrap {
  /** Output of the command. */
  readonly output: Readable;
  /** Resolves when bwrap itself has ended or could not be started. */
  readonly ended: Promise<void>;
  /** The number of the sandbox's first process, which waits for `go`; undefined when bwrap has ended before it. */
  readonly began: Promise<number | undefined>;
  private readonly child: ChildProcess;
  private errors = '';
  private status = '';

  constructor({ options, filter, files, command }: BubblewrapInput) {
    const inputs = [options, filter, ...files];
    this.child = spawn(BUBBLEWRAP, ['--args', String(DESCRIPTORS.arguments), '--', ...command], {
      env: {},
      cwd: '/',
      detached: false,
      shell: false,
      stdio: ['ignore', ...Array.from({ length: PIPES + inputs.length }, () => 'pipe' as const)],
    });
    this.ended = new Promise((resolve) => {
      this.child.once('exit', () => resolve());
      this.child.once('error', (error) => {
        this.addError(error.message);
        resolve();
      });
    });
    this.output = this.readable(1);
    this.listen(2, (text) => this.addError(text));
    const began = Promise.withResolvers<number | undefined>();
    this.listen(DESCRIPTORS.status, (text) => {
      this.status += text;
      if (this.firstProcess !== undefined) began.resolve(this.firstProcess);
    });
    void this.ended.then(() => began.resolve(undefined));
    this.began = began.promise;
    inputs.forEach((content, index) => this.give(DESCRIPTORS.arguments + index, content));
  }

  /**
   * Why the command has not begun, in the words of bwrap or of the shell that sets the limits. Means nothing once it has:
   * a command can write here, too.
   */
  get errorText(): string {
    return this.errors.trim();
  }

  /** Whether the command was started; a command that was cannot take this back. After `settled`. */
  get hasBegun(): boolean {
    return this.errors.includes(BEGUN);
  }

  /** Exit code that bwrap reports; undefined when no command was started or bwrap was killed first. */
  get exitCode(): number | undefined {
    return this.reported('exit-code');
  }

  /** Lets the first process go on, and start the command. */
  go(): void {
    this.give(DESCRIPTORS.go, 'x');
    this.give(DESCRIPTORS.start, 'x');
  }

  /**
   * Ends bwrap if it still runs, and with it whatever runs in the sandbox: two seconds after SIGTERM by force. Only the first
   * process of a command that has not begun goes on without bwrap: it would end because nothing lets the command begin.
   */
  async stop(): Promise<void> {
    for (const descriptor of [DESCRIPTORS.start, DESCRIPTORS.go]) {
      this.child.stdio[descriptor]?.destroy();
    }
    if (!this.child.kill('SIGTERM')) return this.ended;
    const inTime = await Promise.race([this.ended.then(() => true), sleep(TERM_MS, false)]);
    if (!inTime) this.child.kill('SIGKILL');
    await this.ended;
  }

  /**
   * After `ended`: waits until no process of the sandbox is left and its pipes are read to their ends, at most ten seconds
   * and two, and closes them. The first process of a sandbox goes last, and takes all others with it.
   */
  async settled(): Promise<void> {
    if (this.firstProcess !== undefined && (await isAlive(this.firstProcess))) {
      killNow(this.firstProcess);
    }
    const until = performance.now() + GONE_MS;
    while (performance.now() < until && (await isAlive(this.firstProcess))) {
      await sleep(GONE_POLL_MS);
    }
    const pipes = [1, 2, DESCRIPTORS.status].map((descriptor) => this.readable(descriptor));
    const signal = AbortSignal.timeout(DRAIN_MS);
    await Promise.allSettled(pipes.map((pipe) => finished(pipe, { signal, writable: false })));
    for (const pipe of pipes) pipe.destroy();
  }

  private get firstProcess(): number | undefined {
    return this.reported('child-pid');
  }

  private reported(name: string): number | undefined {
    const [, digits] = new RegExp(`"${name}": (\\d+)`).exec(this.status) ?? [];
    return digits === undefined ? undefined : Number(digits);
  }

  private addError(text: string): void {
    this.errors = (this.errors + text).slice(0, MAX_ERROR_CHARS);
  }

  private listen(descriptor: number, take: (text: string) => void): void {
    const pipe = this.readable(descriptor);
    pipe.setEncoding('utf8').on('error', () => undefined);
    pipe.on('data', take);
  }

  private readable(descriptor: number): Readable {
    const pipe = this.child.stdio[descriptor];
    if (pipe instanceof Readable) return pipe;
    throw new Error(`Descriptor ${descriptor} of the sandbox is no pipe.`);
  }

  private give(descriptor: number, content: string | Buffer): void {
    const pipe = this.child.stdio[descriptor];
    if (!(pipe instanceof Writable)) {
      throw new Error(`Descriptor ${descriptor} of the sandbox is no pipe.`);
    }
    // bwrap that ends early does not read it; its own words say why.
    pipe.on('error', () => undefined);
    pipe.end(content);
  }
}

function killNow(first: number): void {
  try {
    process.kill(first, 'SIGKILL');
  } catch {
    // The process has ended by itself.
  }
}

/** A process that merely waits to be noticed by its parent is not alive. */
async function isAlive(id: number | undefined): Promise<boolean> {
  if (id === undefined) return false;
  const line = await readFile(`/proc/${id}/stat`, 'latin1').catch(() => '');
  const state = line.charAt(line.lastIndexOf(')') + 2);
  return state !== '' && !'ZX'.includes(state);
}
