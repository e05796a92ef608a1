import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { msg } from '../../platform/message/index.js';
import { DocumentError, TimeLimitError } from './document.errors.js';

interface OfficeSettings {
  /** LibreOffice, by its name or path. */
  readonly program: string;
  readonly timeoutSeconds: number;
  /** Maximum size of the result, in bytes. */
  readonly maxBytes: number;
}

export interface Conversion {
  readonly path: string;
  readonly folder: string;
  readonly suffix: string;
  readonly to: 'docx' | 'pdf';
  readonly signal: AbortSignal;
}

/** Exit code of prlimit when the program is missing or not executable. */
const MISSING_PROGRAM = 127;
const MISSING: readonly (number | null)[] = [126, MISSING_PROGRAM];

/** Address space of the program; it takes about 2 GiB of it when it starts. */
const MAX_ADDRESS_BYTES = 6 * 2 ** 30;

const ENVIRONMENT = {
  PATH: '/usr/local/bin:/usr/bin:/bin:/opt/libreoffice/program:/opt/homebrew/bin',
};

/** Runs a program with limits of its address space and of the files that it writes; of util-linux, which every Debian has. */
const LIMITER = '/usr/bin/prlimit';

/**
 * Settings of a profile that is thrown away: no macros, no links of a document to other places, and a proxy that accepts
 * no connection, so that no document makes the program call an address.
 */
const PROFILE = `<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">${[
  ['Office.Common/Security/Scripting', 'DisableMacrosExecution', 'true'],
  ['Office.Common/Security/Scripting', 'DisableActiveContent', 'true'],
  ['Office.Common/Security/Scripting', 'BlockUntrustedRefererLinks', 'true'],
  ['Inet/Settings', 'ooInetProxyType', '1'],
  ['Inet/Settings', 'ooInetHTTPProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPProxyPort', '9'],
  ['Inet/Settings', 'ooInetHTTPSProxyName', '127.0.0.1'],
  ['Inet/Settings', 'ooInetHTTPSProxyPort', '9'],
]
  .map(
    ([path = '', name = '', value = '']) =>
      `<item oor:path="/org.openoffice.${path}"><prop oor:name="${name}" oor:op="fuse"><value>${value}</value></prop></item>`,
  )
  .join('')}</oor:items>`;

/**
 * The program LibreOffice of the system, which converts what is not read here: one process a document, with a profile of
 * its own, limits of time, address space and size, and nothing of this process's environment.
 */
export class OfficeProgram {
  constructor(private readonly settings: OfficeSettings) {}

  /**
   * The path of the document in the other format, in a new folder below `folder`, which the caller removes; undefined
   * where the program is not installed. Throws DocumentError for a document that it cannot convert.
   */
  async convert({ path, folder, suffix, to, signal }: Conversion): Promise<string | undefined> {
    signal.throwIfAborted();
    const work = await mkdtemp(join(folder, 'office-'));
    let outputPath: string | undefined;
    try {
      outputPath = await this.convertIn(work, { path, suffix, to, signal });
      return outputPath;
    } finally {
      if (outputPath === undefined) await rm(work, { recursive: true, force: true });
    }
  }

  private async convertIn(
    work: string,
    { path, suffix, to, signal }: Omit<Conversion, 'folder'>,
  ): Promise<string | undefined> {
    const home = join(work, 'profile');
    await mkdir(join(home, 'user'), { recursive: true });
    await writeFile(join(home, 'user', 'registrymodifications.xcu'), PROFILE);
    // The program finds the format by the suffix, too.
    const source = join(work, `document${suffix}`);
    await symlink(path, source);
    const code = await this.run(work, signal, [
      `-env:UserInstallation=${pathToFileURL(home).href}`,
      ...['--headless', '--norestore', '--nolockcheck', '--nodefault', '--nologo'],
      ...['--convert-to', to, '--outdir', join(work, 'out'), source],
    ]);
    if (MISSING.includes(code)) return undefined;
    const outputPath = join(work, 'out', `document.${to}`);
    const outputFiles = await readdir(join(work, 'out')).catch(() => []);
    if (code === 0 && outputFiles.length > 0 && (await stat(outputPath)).size > 0)
      return outputPath;
    throw new DocumentError(
      msg`LibreOffice cannot read the document; it is damaged, protected by a password or of a format that it does not know. Open it, save it as .docx, .xlsx or PDF and upload the result.`,
    );
  }

  private async run(
    work: string,
    signal: AbortSignal,
    args: readonly string[],
  ): Promise<number | null> {
    const { program, timeoutSeconds, maxBytes } = this.settings;
    const limits = ['--core=0', `--as=${MAX_ADDRESS_BYTES}`, `--fsize=${maxBytes}`];
    const child = spawn(LIMITER, [...limits, '--', program, ...args], {
      cwd: work,
      env: { ...ENVIRONMENT, HOME: work, TMPDIR: work },
      stdio: 'ignore',
      // A group of its own, whose processes end together.
      detached: true,
    });
    const timeout = AbortSignal.timeout(timeoutSeconds * 1_000);
    const either = AbortSignal.any([signal, timeout]);
    const kill = () => killGroup(child.pid);
    either.addEventListener('abort', kill);
    try {
      const [code] = (await once(child, 'close').catch(missingLimiter)) as [number | null];
      signal.throwIfAborted();
      if (timeout.aborted) throw new TimeLimitError(timeoutSeconds);
      return code;
    } finally {
      either.removeEventListener('abort', kill);
      kill();
    }
  }
}

/** Reports a missing prlimit as a missing program, so that nothing is converted. */
function missingLimiter(error: NodeJS.ErrnoException): [number] {
  if (error.code === 'ENOENT' || error.code === 'EACCES') return [MISSING_PROGRAM];
  throw error;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // All of its processes have ended.
  }
}
