import type { Dirent } from 'node:fs';
import type { Message } from '../platform/message/index.js';
import {
  closing,
  ObstacleError,
  OpenFolder,
  SKIPPED_FOLDERS,
} from '../platform/filesystem/index.js';
import type { Obstacle } from '../platform/filesystem/index.js';
import { msg } from '../platform/message/index.js';
import { readSkillText, InvalidSkillError, SKILL_LIMITS } from './skill-text.js';
import type { SkillInfo, SkillProblem, SkillRoot, SkillScan } from './skill-text.js';

export const ENTRY_FILE = 'SKILL.md';

/** At most this many problems are reported. */
const MAX_PROBLEMS = 100;

const REASONS: Readonly<Record<Obstacle, Message>> = {
  missing: msg`It was removed, or its name is not valid UTF-8. Rename it.`,
  link: msg`It is a symbolic link, and links are not followed. Put the files here instead.`,
  'no-folder': msg`It is not a folder. Put a folder of skills here.`,
  'no-file': msg`It is not a regular file. Put the file here.`,
  'too-large': msg`It is larger than ${SKILL_LIMITS.entryFileBytes} bytes. Move parts of it into other files.`,
  denied: msg`It cannot be read. Give the service permission to read it.`,
};

/** Ends a scan that reached a limit; the skills found so far are kept. */
class ScanLimitReached extends Error {}

/** One scan of several roots. */
class Scan {
  readonly skills = new Map<string, SkillInfo>();
  readonly skipped: SkillProblem[] = [];
  private entries = 0;
  /** Files and folders of skills that were looked through for skills in them. */
  private innerEntries = 0;
  /** The folder being scanned. */
  private at: readonly string[] = [];

  constructor(private readonly signal: AbortSignal) {}

  async root(root: SkillRoot): Promise<void> {
    const names = namesOf(root);
    await this.attempt(names, { mayBeMissing: true }, async () => {
      const base = await OpenFolder.open(root.base);
      await closing(base, async () => {
        await closing(await base.folder(names), (folder) => this.folders(root, folder, names));
      });
    });
  }

  /** Scans the entries of a folder that is not a skill itself. */
  private async folders(
    root: SkillRoot,
    folder: OpenFolder,
    names: readonly string[],
  ): Promise<void> {
    for (const entry of await this.entriesOf(folder, names)) {
      const path = [...names, entry.name];
      if (entry.isDirectory()) await this.folder(root, folder, path);
      else this.notAFolder(root, entry, path);
    }
  }

  private async entriesOf(folder: OpenFolder, names: readonly string[]): Promise<Dirent[]> {
    this.at = names;
    this.signal.throwIfAborted();
    const entries = await folder.entries(SKILL_LIMITS.entries - this.entries);
    if (!entries) {
      this.end(
        names,
        msg`The scan has reached ${SKILL_LIMITS.entries} files and folders. Move files that are not skills elsewhere.`,
      );
    }
    this.entries += entries.length;
    return entries;
  }

  private async folder(
    root: SkillRoot,
    parent: OpenFolder,
    path: readonly string[],
  ): Promise<void> {
    const name = path.at(-1) ?? '';
    if (SKIPPED_FOLDERS.has(name)) return;
    if (path.length - namesOf(root).length > SKILL_LIMITS.depth) {
      this.skip(path, msg`It is more than ${SKILL_LIMITS.depth} folders deep. Move it up.`);
      return;
    }
    await this.attempt(path, {}, async () => {
      await closing(await parent.folder([name]), async (folder) => {
        const isSkill = await this.skill(root, folder, path);
        if (isSkill) await this.innerSkills(root, folder, { path, outer: path.join('/') });
        else await this.folders(root, folder, path);
      });
    });
  }

  /** Names the skills in the folder of another one. A skill may have more files than a scan looks through: then the rest is not looked at. */
  private async innerSkills(
    root: SkillRoot,
    skill: OpenFolder,
    { path, outer }: { readonly path: readonly string[]; readonly outer: string },
  ): Promise<void> {
    if (path.length - namesOf(root).length > SKILL_LIMITS.depth) return;
    this.signal.throwIfAborted();
    const entries = (await skill.entries(SKILL_LIMITS.entries - this.innerEntries)) ?? [];
    this.innerEntries += entries.length;
    for (const entry of entries.filter((one) => one.isDirectory())) {
      if (SKIPPED_FOLDERS.has(entry.name)) continue;
      const inner = [...path, entry.name];
      await this.attempt(inner, { mayBeMissing: true }, async () => {
        await closing(await skill.folder([entry.name]), async (folder) => {
          if (await hasEntryFile(folder)) {
            this.skip(
              inner,
              msg`It is inside the skill ${outer}, whose files are not looked through for skills. Move it beside that.`,
            );
          } else await this.innerSkills(root, folder, { path: inner, outer });
        });
      });
    }
  }

  /** Adds the skill of the folder; false when it has no SKILL.md. The other files of the folder belong to the skill. */
  private async skill(
    root: SkillRoot,
    folder: OpenFolder,
    path: readonly string[],
  ): Promise<boolean> {
    const file = [...path, ENTRY_FILE];
    let isThere = true;
    await this.attempt(file, {}, async () => {
      const bytes = await folder
        .read(ENTRY_FILE, SKILL_LIMITS.entryFileBytes, this.signal)
        .catch((error: unknown) => {
          if (error instanceof ObstacleError && error.obstacle === 'missing') return undefined;
          throw error;
        });
      isThere = bytes !== undefined;
      if (bytes) this.add(root, path, bytes);
    });
    return isThere;
  }

  private add(root: SkillRoot, path: readonly string[], bytes: Buffer): void {
    const { body: _, ...skill } = readSkillText(bytes);
    const winner = this.skills.get(skill.name);
    if (winner) {
      throw new InvalidSkillError(
        msg`There is already a skill ${skill.name} in ${winner.source}. Give this one another name.`,
      );
    }
    if (this.skills.size === SKILL_LIMITS.skills) {
      this.end(
        path,
        msg`Only ${SKILL_LIMITS.skills} skills are read. Remove skills that are not used.`,
      );
    }
    const { source, base } = root;
    const warnings =
      path.at(-1) === skill.name
        ? skill.warnings
        : [...skill.warnings, msg`Name the folder ${skill.name}, like the skill.`];
    this.skills.set(skill.name, { ...skill, source, base, path: path.join('/'), warnings });
  }

  /** The time limit was reached: the skills found so far are kept. */
  timedOut(): void {
    this.skipped.splice(MAX_PROBLEMS - 1);
    this.skip(
      this.at,
      msg`The scan for skills took longer than ${SKILL_LIMITS.seconds} s and ended here. Move files that are not skills elsewhere.`,
    );
  }

  private notAFolder(root: SkillRoot, entry: Dirent, path: readonly string[]): void {
    if (entry.isSymbolicLink()) this.skip(path, REASONS.link);
    else if (entry.name === ENTRY_FILE && path.length === namesOf(root).length + 1) {
      this.skip(path, msg`A skill needs its own folder. Move the file into one.`);
    } else if (entry.name.toLowerCase() === ENTRY_FILE.toLowerCase()) {
      this.skip(path, msg`The file must be named ${ENTRY_FILE}. Rename it.`);
    }
  }

  /** Runs a step; a failure is reported as a problem of the path, and the scan continues. */
  private async attempt(
    path: readonly string[],
    { mayBeMissing = false },
    step: () => Promise<void>,
  ): Promise<void> {
    try {
      await step();
    } catch (error) {
      if (error instanceof ScanLimitReached || this.signal.aborted) throw error;
      if (error instanceof ObstacleError) {
        if (error.obstacle === 'missing' && mayBeMissing) return;
        this.skip(path, REASONS[error.obstacle]);
      } else if (error instanceof InvalidSkillError) {
        this.skip(path, error.userMessage);
      } else if (isSystemError(error)) {
        this.skip(path, msg`It cannot be read (${error.code}). Check the file system.`);
      } else throw error;
    }
  }

  private skip(path: readonly string[], reason: Message): void {
    if (this.skipped.length < MAX_PROBLEMS) this.skipped.push({ path: path.join('/'), reason });
  }

  private end(path: readonly string[], reason: Message): never {
    this.skipped.splice(MAX_PROBLEMS - 1);
    this.skip(path, reason);
    throw new ScanLimitReached();
  }
}

async function hasEntryFile(folder: OpenFolder): Promise<boolean> {
  return folder.stat(ENTRY_FILE).then(
    (entry) => entry.isFile(),
    () => false,
  );
}

/**
 * Finds the skills below the roots, root by root, folders ordered by name; the first of a name wins. A missing
 * root has none. A folder with a SKILL.md is a skill; skills in it are none, and are reported. What was left out is reported with
 * the reason; docs/WIRE.md (Skills) has the limits. When `timeLimit` aborts, by default after 30 s, the skills found
 * until then are returned; when `signal` aborts, its reason is thrown.
 */
export async function scanSkills(
  roots: readonly SkillRoot[],
  signal: AbortSignal,
  timeLimit = AbortSignal.timeout(SKILL_LIMITS.seconds * 1_000),
): Promise<SkillScan> {
  const scan = new Scan(AbortSignal.any([signal, timeLimit]));
  try {
    for (const root of roots) await scan.root(root);
  } catch (error) {
    signal.throwIfAborted();
    if (timeLimit.aborted) scan.timedOut();
    else if (!(error instanceof ScanLimitReached)) throw error;
  }
  return { skills: [...scan.skills.values()], skipped: scan.skipped };
}

function namesOf(root: SkillRoot): readonly string[] {
  return root.folder ? root.folder.split('/') : [];
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'errno' in error && 'code' in error;
}
