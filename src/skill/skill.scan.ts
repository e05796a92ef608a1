import type { Dirent } from 'node:fs';
import {
  closing,
  ObstacleError,
  OpenFolder,
  SKIPPED_FOLDERS,
} from '../platform/filesystem/index.js';
import type { Obstacle } from '../platform/filesystem/index.js';
import { readSkillText } from './skill-text.js';
import { InvalidSkillError } from './skill.errors.js';
import type { SkillInfo, SkillProblem, SkillRoot, SkillScan } from './skill.info.js';
import { SKILL_LIMITS } from './skill.limits.js';

export const ENTRY_FILE = 'SKILL.md';

/** So many problems tell enough. */
const PROBLEMS = 100;

const REASONS: Readonly<Record<Obstacle, string>> = {
  missing: 'It was removed, or its name is no valid UTF-8. Rename it.',
  link: 'It is a symbolic link, and links are not followed. Put the files themselves here.',
  'no-folder': 'It is not a folder. Put a folder of skills here.',
  'no-file': 'It is not a regular file. Put the file itself here.',
  'too-large': `It is larger than ${SKILL_LIMITS.entryFileBytes} bytes. Move parts of it into files beside it.`,
  denied: 'It may not be read. Give the service the right to read it.',
};

/** Ends a scan that has met a limit; what was found so far stands. */
class ScanLimitReached extends Error {}

/** One look through several roots. */
class Scan {
  readonly skills = new Map<string, SkillInfo>();
  readonly skipped: SkillProblem[] = [];
  private entries = 0;
  /** The folder that is being looked at. */
  private at: readonly string[] = [];

  constructor(private readonly signal: AbortSignal) {}

  async root(root: SkillRoot): Promise<void> {
    const names = namesOf(root);
    await this.tried(names, { mayBeMissing: true }, async () => {
      const base = await OpenFolder.open(root.base);
      await closing(base, async () => {
        await closing(await base.folder(names), (folder) => this.folders(root, folder, names));
      });
    });
  }

  /** Looks at what lies in a folder that is no skill itself. */
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
        `More than ${SKILL_LIMITS.entries} files and folders lie here and before it. Move what is no skill elsewhere.`,
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
      this.skip(path, `It lies more than ${SKILL_LIMITS.depth} folders deep. Move it up.`);
      return;
    }
    await this.tried(path, {}, async () => {
      await closing(await parent.folder([name]), async (folder) => {
        const isSkill = await this.skill(root, folder, path);
        if (!isSkill) await this.folders(root, folder, path);
      });
    });
  }

  /** Takes the folder's SKILL.md in; false when there is none. What lies beside it belongs to the skill. */
  private async skill(
    root: SkillRoot,
    folder: OpenFolder,
    path: readonly string[],
  ): Promise<boolean> {
    const file = [...path, ENTRY_FILE];
    let isThere = true;
    await this.tried(file, {}, async () => {
      const bytes = await folder
        .read(ENTRY_FILE, SKILL_LIMITS.entryFileBytes, this.signal)
        .catch((error: unknown) => {
          if (error instanceof ObstacleError && error.obstacle === 'missing') return undefined;
          throw error;
        });
      isThere = bytes !== undefined;
      if (bytes) this.take(root, path, bytes);
    });
    return isThere;
  }

  private take(root: SkillRoot, path: readonly string[], bytes: Buffer): void {
    const { body: _, ...skill } = readSkillText(bytes);
    const winner = this.skills.get(skill.name);
    if (winner) {
      throw new InvalidSkillError(
        `There is already a skill ${skill.name} in ${winner.source}. Give this one another name.`,
      );
    }
    if (this.skills.size === SKILL_LIMITS.skills) {
      this.end(
        path,
        `Only ${SKILL_LIMITS.skills} skills are read. Remove those that nobody needs.`,
      );
    }
    const { source, base } = root;
    const warnings =
      path.at(-1) === skill.name
        ? skill.warnings
        : [...skill.warnings, `Name the folder ${skill.name}, like the skill.`];
    this.skills.set(skill.name, { ...skill, source, base, path: path.join('/'), warnings });
  }

  /** The time is over: what was found so far stands. */
  late(): void {
    this.skipped.splice(PROBLEMS - 1);
    this.skip(
      this.at,
      `Looking for skills took longer than ${SKILL_LIMITS.seconds} s and ended here. Move what is no skill elsewhere.`,
    );
  }

  private notAFolder(root: SkillRoot, entry: Dirent, path: readonly string[]): void {
    if (entry.isSymbolicLink()) this.skip(path, REASONS.link);
    else if (entry.name === ENTRY_FILE && path.length === namesOf(root).length + 1) {
      this.skip(path, 'A skill needs a folder of its own. Move the file into one.');
    } else if (entry.name.toLowerCase() === ENTRY_FILE.toLowerCase()) {
      this.skip(path, `The file must be named ${ENTRY_FILE}. Rename it.`);
    }
  }

  /** Does a step; what goes wrong in it is a problem of the path, and the scan goes on. */
  private async tried(
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
        this.skip(path, error.message);
      } else if (isSystemError(error)) {
        this.skip(path, `It cannot be read (${error.code}). Look at the file system.`);
      } else throw error;
    }
  }

  private skip(path: readonly string[], reason: string): void {
    if (this.skipped.length < PROBLEMS) this.skipped.push({ path: path.join('/'), reason });
  }

  private end(path: readonly string[], reason: string): never {
    this.skipped.splice(PROBLEMS - 1);
    this.skip(path, reason);
    throw new ScanLimitReached();
  }
}

/**
 * Finds the skills below the roots, root by root, folders ordered by name; the first of a name wins. A root that is
 * not there has none. A folder with a SKILL.md is a skill, and what it holds is the skill's own. What was left out is
 * told with the reason; links and the limits are those of the specification (Limits, Skill scan). When `patience` is
 * over, by default after 30 s, what was found until then is answered; the signal's reason is thrown.
 */
export async function scanSkills(
  roots: readonly SkillRoot[],
  signal: AbortSignal,
  patience = AbortSignal.timeout(SKILL_LIMITS.seconds * 1_000),
): Promise<SkillScan> {
  const scan = new Scan(AbortSignal.any([signal, patience]));
  try {
    for (const root of roots) await scan.root(root);
  } catch (error) {
    signal.throwIfAborted();
    if (patience.aborted) scan.late();
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
