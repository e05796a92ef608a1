import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Inject, Injectable, Logger } from '@nestjs/common';
import type { OnApplicationBootstrap, OnApplicationShutdown } from '@nestjs/common';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { packageFolder } from '../../platform/filesystem/index.js';
import { overlap } from '../workspace/workspace-path.js';
import {
  forgetPlantedPaths,
  removePlantedPaths,
  runInSandbox,
  SandboxUnavailableError,
} from './sandbox.run.js';
import type { SandboxPlace, SandboxRequest, SandboxResult } from './sandbox.run.js';
import type { LimitHolders } from './resource-limits.js';
import { probeSandbox, type ProbePlace } from './sandbox.probe.js';
import type { ProtectedPath } from './workspace-scan.js';

const MIB = 2 ** 20;
/** A command that writes more to its workspace, or leaves less free on its disk, is ended. */
const MAX_ADDED_BYTES = 10_240 * MIB;
const MIN_FREE_BYTES = 1_024 * MIB;
/** Workspaces with more than 250,000 files are refused: what a command adds must still be looked through after it. */
const MAX_ADDED_FILES = 500_000;
const MAX_LOGGED_PATHS = 20;
const PROBE_MS = 10 * 60 * 1_000;
/** Delay after a failed probe, so that a machine that was merely busy can soon run commands again. */
const PROBE_AGAIN_MS = 30_000;

export interface SandboxCapability {
  readonly available: boolean;
  /** Reason why the sandbox is unavailable, and how to fix it. */
  readonly reason: string | null;
  /** Mechanism that enforces the limits; null if the probe did not find out. */
  readonly limitsBy: LimitHolders | null;
}

/**
 * Runs commands in a sandbox without network, environment, secrets and rights. Where a real
 * sandbox does not hold what it must, there are no commands at all: nothing can make them run outside of it.
 */
@Injectable()
export class Sandbox implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly logger = new Logger('Sandbox');
  private readonly stopping = new AbortController();
  private readonly place: ProbePlace & SandboxPlace;
  /** The commands that run or wait, each with its workspace. */
  private readonly commands = new Map<Promise<unknown>, string>();
  private state: SandboxCapability = {
    available: false,
    reason: 'It is still being checked.',
    limitsBy: null,
  };
  private probing: Promise<void> | undefined;
  private again: Promise<void> = Promise.resolve();
  private timer: NodeJS.Timeout | undefined;

  constructor(@Inject(CONFIG) config: Config) {
    const service = packageFolder(import.meta.url);
    const data = resolve(config.DATA_DIR);
    this.place = {
      removed: join(data, 'harness', 'removed'),
      hidden: [service, data].filter((path) => path.startsWith('/usr/') && existsSync(path)),
      limits: {
        memoryBytes: config.HARNESS_COMMAND_MEMORY_MB * MIB,
        diskBytes: MAX_ADDED_BYTES,
        freeBytes: MIN_FREE_BYTES,
        addedFiles: MAX_ADDED_FILES,
      },
      unseen: ['/root', join(service, 'package.json'), join(data, 'pg')],
    };
  }

  /** Checked at the start and every ten minutes; every 30 seconds while there are no commands. */
  get capability(): SandboxCapability {
    return this.state;
  }

  onApplicationBootstrap(): void {
    this.again = this.ready().then(() => this.probeLater());
  }

  /** Ends what still runs. */
  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.timer);
    this.stopping.abort();
    await this.probing;
    await this.again;
    await Promise.all(this.commands.keys());
  }

  /** Resolves once the sandbox has been checked; never rejects. */
  async ready(): Promise<void> {
    this.probing ??= this.probe();
    await this.probing;
  }

  /** Fails with ToolError SANDBOX_UNAVAILABLE where commands cannot be run. */
  async require(): Promise<void> {
    await this.ready();
    if (this.state.available) return;
    throw new SandboxUnavailableError(this.state.reason ?? 'It is not known why.');
  }

  /**
   * Runs the command and answers how it ended; nothing of it runs any more then. Commands wait for earlier ones of the
   * same workspace, and of those above and below it: what is covered by its path must not be moved meanwhile. Fails with a
   * ToolError when the command was not started: SANDBOX_UNAVAILABLE, TOO_LARGE or PROTECTED_PATH where secrets and
   * protected paths cannot be kept from it; with the signal's reason when that aborts before. Any other error leaves open
   * what the command has done.
   */
  async run(request: SandboxRequest): Promise<SandboxResult> {
    await this.require();
    const signal = AbortSignal.any([request.signal, this.stopping.signal]);
    return this.afterEarlier(request.workspace, signal, async () => {
      const result = await runInSandbox({ ...request, signal }, this.place);
      this.logRemoved(request.workspace, result.removed);
      return result;
    });
  }

  /**
   * Removes what the command of a service that was lost has made under protected names, as `run` does after each.
   * `before` is what the promise of `onReady` resolved to. Fails with the signal's reason when that aborts; what was removed
   * until then stays removed.
   */
  async tidy(
    workspace: string,
    before: readonly ProtectedPath[],
    signal: AbortSignal,
  ): Promise<void> {
    await this.afterEarlier(workspace, signal, async () => {
      const options = { storeFolder: this.place.removed, signal };
      const { removed } = await removePlantedPaths(workspace, before, options);
      this.logRemoved(workspace, removed);
    });
  }

  private logRemoved(workspace: string, removed: readonly string[]): void {
    if (removed.length === 0) return;
    const msg = 'Removed protected paths that a command had made';
    const paths = removed.slice(0, MAX_LOGGED_PATHS);
    this.logger.warn({ msg, workspace, count: removed.length, paths, keptIn: this.place.removed });
  }

  private async afterEarlier<T>(
    workspace: string,
    signal: AbortSignal,
    act: () => Promise<T>,
  ): Promise<T> {
    const earlier = [...this.commands].filter(([, other]) => overlap(other, workspace));
    const before = Promise.all(earlier.map(([command]) => command));
    const waiting = Promise.withResolvers<never>();
    const giveUp = () => waiting.reject(signal.reason);
    signal.addEventListener('abort', giveUp, { once: true });
    const command = before.then(() => {
      signal.removeEventListener('abort', giveUp);
      // A caller that has given up expects no further effects.
      signal.throwIfAborted();
      return act();
    });
    const settled = command.catch(() => undefined);
    this.commands.set(settled, workspace);
    void settled.then(() => this.commands.delete(settled));
    return Promise.race([command, waiting.promise]);
  }

  private probeLater(): void {
    if (this.stopping.signal.aborted) return;
    const probeAgain = (): void => {
      this.again = this.probe().then(() => this.probeLater());
    };
    const delayMs = this.state.available ? PROBE_MS : PROBE_AGAIN_MS;
    this.timer = setTimeout(probeAgain, delayMs).unref();
  }

  private async probe(): Promise<void> {
    try {
      await forgetPlantedPaths(this.place.removed, this.stopping.signal);
      const { reason, limitsBy } = await probeSandbox(this.place, this.stopping.signal);
      const before = this.state;
      this.state = { available: reason === null, reason, limitsBy };
      this.logChange(before);
    } catch {
      // The service stops.
      this.state = { available: false, reason: 'The service is stopping.', limitsBy: null };
    }
  }

  private logChange(before: SandboxCapability): void {
    const { reason, limitsBy } = this.state;
    if (isDeepStrictEqual(this.state, before)) return;
    if (reason !== null) {
      this.logger.warn({ msg: 'Sandbox unavailable: shell commands are disabled', reason });
    } else {
      const { processes: processLimit, memory: memoryLimit } = limitsBy ?? {};
      this.logger.log({ msg: 'Sandbox available', processLimit, memoryLimit });
    }
  }
}
