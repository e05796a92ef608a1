import { mkdir, opendir, realpath, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
import { Inject, Injectable, Logger } from '@nestjs/common';
import { ConflictError, DomainError, InvalidInputError } from '../../platform/error/index.js';
import { identityOf, packageFolder } from '../../platform/filesystem/index.js';
import { msg } from '../../platform/message/index.js';
import type { Message } from '../../platform/message/index.js';
import { TenantLifecycle } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { Database } from '../../platform/database/index.js';
import { classifyPath } from './protected-path.js';
import { overlap, relativeTo } from './workspace-path.js';

/** The folder of the session is no longer the one that the session was made for. */
export class WorkspaceGoneError extends ConflictError {
  constructor() {
    super(
      msg`The workspace was moved, removed or replaced since the session was made. Put it back, or make a new session.`,
      { data: { errorCode: 'WORKSPACE_GONE' } },
    );
  }
}

/** The operator has not allowed the folder; the message says what to change. */
class WorkspaceNotAllowedError extends InvalidInputError {
  constructor(message: Message) {
    super(message, { data: { errorCode: 'WORKSPACE_NOT_ALLOWED' } });
  }
}

/** Also the answer for a folder outside of the tenant's roots, so that callers do not learn what there is. */
class WorkspaceNotFoundError extends DomainError {
  readonly code = 404;

  constructor() {
    super(
      msg`The workspace was not found. Give the path of a folder below a root that the operator has set up for you (HARNESS_ROOTS).`,
      { data: { errorCode: 'WORKSPACE_NOT_FOUND' } },
    );
  }
}

/** A folder that a session may work in. */
export interface WorkspacePlace {
  /** Absolute, without links. */
  readonly path: string;
  /** `device:inode`. */
  readonly identity: string;
}

/** A folder that a session may be made for. */
export interface ListedWorkspace {
  /** Absolute, without links. */
  readonly path: string;
  /** The root that it is, or lies in. */
  readonly root: string;
  /** Path below the root; empty for the root itself. */
  readonly name: string;
}

/** Entries of a root that are looked at. */
const MAX_ENTRIES = 10_000;

/** The folder of the service itself. */
const PROGRAM = packageFolder(import.meta.url);

/** Folders of the system itself. */
const SYSTEM_FOLDERS = ['/proc', '/sys', '/dev', '/etc'];

const TENANT_ID = /^[\w-]{1,20}$/;

/**
 * Folders in which a tenant's sessions may work: those below its roots of HARNESS_ROOTS or, with the embedded database
 * and without that variable, those below DATA_DIR/workspaces/{tenantId}, which is created on first use and removed with
 * its tenant. Roots of the operator are never removed.
 */
@Injectable()
export class WorkspaceRoots {
  private readonly logger = new Logger(WorkspaceRoots.name);

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly database: Database,
    lifecycle: TenantLifecycle,
  ) {
    lifecycle.join({
      deleting: (tenantId) => this.database.afterCommit(() => this.erase(tenantId)),
    });
  }

  /**
   * The folder that a text names: absolute, or relative to the tenant's first root; without one, the tenant's root if
   * there is exactly one. WorkspaceNotAllowedError when the tenant has no root, or the folder must not be worked in;
   * WorkspaceNotFoundError when it is no folder below a root of the tenant, whether or not it is another tenant's.
   */
  async resolve(tenantId: string, workspacePath = ''): Promise<WorkspacePlace> {
    const roots = await this.rootsOf(tenantId);
    const [first] = roots;
    if (first === undefined) throw new WorkspaceNotFoundError();
    if (workspacePath === '' && roots.length > 1) {
      throw new WorkspaceNotAllowedError(
        msg`There are several folders with workspaces. Say with workspacePath which one to work in.`,
      );
    }
    const path = await canonical(resolve(first, workspacePath));
    // A path is shown to people and models on one line.
    if (path === undefined || /\p{Cc}/u.test(path)) throw new WorkspaceNotFoundError();
    const identity = await folderIdentity(path);
    if (identity === undefined) throw new WorkspaceNotFoundError();
    await this.checkAllowed(tenantId, path, roots);
    return { path, identity };
  }

  /**
   * The tenant's roots in the order of the configuration, each followed by its folders by name, as far as a session may
   * work there. At most `limit` entries; `more` says whether there are others. Links are skipped. Empty when the tenant has
   * no root.
   */
  async list(
    tenantId: string,
    limit: number,
  ): Promise<{ readonly workspaces: readonly ListedWorkspace[]; readonly more: boolean }> {
    const roots = await this.rootsOf(tenantId).catch((error: unknown) => {
      if (error instanceof WorkspaceNotAllowedError) return [];
      throw error;
    });
    const bounds = await this.boundsOf(tenantId);
    const workspaces: ListedWorkspace[] = [];
    for (const root of new Set(roots)) {
      const names = await foldersIn(root);
      const candidates = ['', ...names].map((name) => ({ root, name, path: join(root, name) }));
      workspaces.push(...candidates.filter(({ path }) => !obstacleOf(path, roots, bounds)));
      if (workspaces.length > limit) break;
    }
    return { workspaces: workspaces.slice(0, limit), more: workspaces.length > limit };
  }

  /**
   * Whether a session may still work where it was made for. WorkspaceGoneError when the folder was moved, removed or
   * replaced; else the errors of `resolve`, when the operator has changed the roots.
   */
  async check(tenantId: string, path: string, identity: string): Promise<void> {
    const isSame = (await canonical(path)) === path && (await folderIdentity(path)) === identity;
    if (!isSame) throw new WorkspaceGoneError();
    await this.checkAllowed(tenantId, path, await this.rootsOf(tenantId));
  }

  /** The tenant's canonical roots that exist. WorkspaceNotAllowedError when none is set up. */
  private async rootsOf(tenantId: string): Promise<string[]> {
    const tenantFolder = this.ownFolder(tenantId);
    if (tenantFolder !== undefined) {
      await mkdir(tenantFolder, { recursive: true, mode: 0o700 });
      return [await realpath(tenantFolder)];
    }
    const tenantRoots = this.config.HARNESS_ROOTS.filter((root) => root.tenantId === tenantId);
    if (tenantRoots.length === 0) {
      throw new WorkspaceNotAllowedError(
        msg`No folder for workspaces is set up for this tenant. Ask the operator to set HARNESS_ROOTS, for example to 000000=/srv/workspaces.`,
      );
    }
    const paths = await Promise.all(tenantRoots.map((root) => canonical(root.path)));
    return paths.filter((path) => path !== undefined);
  }

  /** The tenant's folder in DATA_DIR; undefined outside the embedded set-up. */
  private ownFolder(tenantId: string): string | undefined {
    const { embedded, HARNESS_ROOTS: roots } = this.config;
    return embedded && roots.length === 0 ? this.folderInData(tenantId) : undefined;
  }

  private folderInData(tenantId: string): string {
    if (!TENANT_ID.test(tenantId)) throw new WorkspaceNotFoundError();
    return join(this.config.DATA_DIR, 'workspaces', tenantId);
  }

  private async checkAllowed(
    tenantId: string,
    path: string,
    roots: readonly string[],
  ): Promise<void> {
    const obstacle = obstacleOf(path, roots, await this.boundsOf(tenantId));
    if (obstacle) throw obstacle;
  }

  private async boundsOf(tenantId: string): Promise<Bounds> {
    const others = this.config.HARNESS_ROOTS.filter((root) => root.tenantId !== tenantId);
    const foreign = await Promise.all(others.map((root) => canonical(root.path)));
    const data = (await canonical(this.config.DATA_DIR)) ?? this.config.DATA_DIR;
    return {
      foreign: foreign.filter((path) => path !== undefined),
      home: await canonical(homedir()),
      data,
      tenantFolder:
        this.ownFolder(tenantId) === undefined ? undefined : join(data, 'workspaces', tenantId),
      program: (await canonical(PROGRAM)) ?? PROGRAM,
    };
  }

  private async erase(tenantId: string): Promise<void> {
    if (!TENANT_ID.test(tenantId)) return;
    try {
      await rm(this.folderInData(tenantId), { recursive: true, force: true });
    } catch (error) {
      this.logger.error({
        msg: 'Failed to remove workspaces of a deleted tenant',
        tenantId,
        err: error,
      });
    }
  }
}

/** Folders in which a tenant's sessions may not work, whatever its roots; links are resolved. */
interface Bounds {
  /** Roots of other tenants. They should be apart; where links bring them together, neither side gets in. */
  readonly foreign: readonly string[];
  /** Home folder of the service. */
  readonly home: string | undefined;
  readonly data: string;
  /** The tenant's own folder in the data, where it has one. */
  readonly tenantFolder: string | undefined;
  readonly program: string;
}

/** Reason why a session may not work in the folder; undefined when it may. */
function obstacleOf(
  path: string,
  roots: readonly string[],
  bounds: Bounds,
): WorkspaceNotFoundError | WorkspaceNotAllowedError | undefined {
  const root = roots.find((each) => isWithin(each, path));
  if (root === undefined || bounds.foreign.some((other) => overlap(other, path))) {
    return new WorkspaceNotFoundError();
  }
  const below = relativeTo(root, path) ?? '';
  const { protection, secret } = classifyPath(below);
  if (protection !== 'NONE' || secret) {
    return new WorkspaceNotAllowedError(
      msg`A workspace cannot be a folder of settings or secrets such as ${below}. Choose the folder that holds the project.`,
    );
  }
  const reserved = reservedAt(path, bounds);
  if (reserved === undefined) return undefined;
  return new WorkspaceNotAllowedError(
    msg`A workspace cannot be, hold or lie in ${reserved}. Choose the folder of one project.`,
  );
}

/** Name of the system's or the service's folder that the path touches; undefined when it touches none. */
function reservedAt(
  path: string,
  { home, data, tenantFolder, program }: Bounds,
): string | undefined {
  if (path === '/') return 'the whole file system';
  if (home !== undefined && isWithin(path, home)) return 'the home folder of the service';
  if (tenantFolder !== undefined && isWithin(tenantFolder, path)) return undefined;
  if (overlap(path, data)) return 'the data of the service (DATA_DIR)';
  if (overlap(path, program)) return 'the program folder of the service';
  return SYSTEM_FOLDERS.some((folder) => overlap(path, folder))
    ? 'a folder of the operating system'
    : undefined;
}

/** The names of the folders right in a folder, sorted, of its first 10,000 entries; none where it cannot be read. */
async function foldersIn(path: string): Promise<string[]> {
  const names: string[] = [];
  let looked = 0;
  try {
    // Closed by the loop, however that ends.
    for await (const entry of await opendir(path)) {
      looked += 1;
      if (looked > MAX_ENTRIES) break;
      // Names with control characters are skipped: paths are shown to people and models on one line.
      if (entry.isDirectory() && !/\p{Cc}/u.test(entry.name)) names.push(entry.name);
    }
  } catch {
    return [];
  }
  return names.sort();
}

function isWithin(folder: string, path: string): boolean {
  return relativeTo(folder, path) !== undefined;
}

/** The path without links; undefined when there is nothing, or nothing that the service may look at. */
async function canonical(path: string): Promise<string | undefined> {
  try {
    return await realpath(path);
  } catch {
    return undefined;
  }
}

async function folderIdentity(path: string): Promise<string | undefined> {
  const stats = await stat(path, { bigint: true }).catch(() => undefined);
  return stats?.isDirectory() === true ? identityOf(stats) : undefined;
}
