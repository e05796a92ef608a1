import { isAbsolute, join, relative, sep } from 'node:path';

/** What a harness session may do at most, narrow to wide. */
export const MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
export type Mode = (typeof MODES)[number];

/** A folder of the editor's machine and the same folder on the server. */
interface Root {
  readonly local: string;
  readonly server: string;
}

export interface Settings {
  readonly url: string;
  readonly apiKey: string;
  /** Model of new sessions; the service's default when absent. */
  readonly model?: string | undefined;
  /** Mode of new sessions, which their runs can narrow. */
  readonly mode: Mode;
  readonly roots: readonly Root[];
}

/** Reads the environment. The error says what to set. */
export function readSettings(environment: Readonly<Record<string, string | undefined>>): Settings {
  const {
    PLINTH_URL: url = '',
    PLINTH_API_KEY: apiKey = '',
    PLINTH_MODEL: model,
    PLINTH_MODE: mode = 'WORKSPACE_WRITE',
    PLINTH_ROOTS: roots = '',
  } = environment;
  if (!URL.canParse(url)) throw new Error('Set PLINTH_URL to the address of the service.');
  if (apiKey === '') throw new Error('Set PLINTH_API_KEY to an API key of the service.');
  if (!isMode(mode)) throw new Error(`PLINTH_MODE must be one of ${MODES.join(', ')}.`);
  return { url, apiKey, model, mode, roots: roots.split(',').filter(Boolean).map(rootOf) };
}

export function isMode(mode: string): mode is Mode {
  return MODES.some((one) => one === mode);
}

function rootOf(entry: string): Root {
  const [local = '', server = '', ...rest] = entry.split('=');
  if (!isAbsolute(local) || !server.startsWith('/') || rest.length > 0) {
    throw new Error(
      'PLINTH_ROOTS must be a list such as /home/me/code=/srv/workspaces: folders here and on the server.',
    );
  }
  return { local, server };
}

/** The folder on the server of a folder of the editor; the same path without a root above it. */
export function serverPath({ roots }: Pick<Settings, 'roots'>, local: string): string {
  for (const root of roots) {
    const below = relative(root.local, local);
    if (isBelow(below))
      return below === '' ? root.server : `${root.server}/${below.split(sep).join('/')}`;
  }
  return local;
}

/** The folder of the editor of a folder on the server. */
export function localPath({ roots }: Pick<Settings, 'roots'>, server: string): string {
  for (const root of roots) {
    const folder = root.server.replace(/\/$/, '');
    if (server === folder) return root.local;
    if (server.startsWith(`${folder}/`)) return join(root.local, server.slice(folder.length + 1));
  }
  return server;
}

function isBelow(path: string): boolean {
  return path !== '..' && !path.startsWith(`..${sep}`) && !isAbsolute(path);
}
