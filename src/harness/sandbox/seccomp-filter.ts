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
