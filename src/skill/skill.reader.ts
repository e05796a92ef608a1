import { NotFoundError } from '../platform/error/index.js';
import { closing, ObstacleError, OpenFolder } from '../platform/filesystem/index.js';
import { resourceNames } from './skill-path.js';
import { readSkillText } from './skill-text.js';
import {
  InvalidSkillError,
  SkillResourceNotTextError,
  SkillResourcePathError,
  SkillResourceTooLargeError,
} from './skill.errors.js';
import type { SkillInfo, SkillText } from './skill.info.js';
import { SKILL_LIMITS } from './skill.limits.js';
import { ENTRY_FILE } from './skill.scan.js';

/** The current SKILL.md of the skill. InvalidSkillError when it is invalid or names another skill. */
export async function readSkill(skill: SkillInfo, signal: AbortSignal): Promise<SkillText> {
  const bytes = await read(skill, {
    names: [ENTRY_FILE],
    limit: SKILL_LIMITS.entryFileBytes,
    signal,
  });
  const text = readSkillText(bytes);
  if (text.name !== skill.name) {
    throw new InvalidSkillError(
      `The skill ${skill.name} is now named ${text.name}. Load the skills again.`,
    );
  }
  return text;
}

/**
 * A text file of the skill, named by its path below the skill's folder (docs/WIRE.md, Skills). Refused when the path
 * could lead outside or contains a link, or the file is larger than 1 MiB, not regular or not UTF-8; each error says
 * which.
 */
export async function readSkillResource(
  skill: SkillInfo,
  path: string,
  signal: AbortSignal,
): Promise<string> {
  const names = resourceNames(path);
  const bytes = await read(skill, { names, limit: SKILL_LIMITS.resourceBytes, signal });
  if (bytes.includes(0)) throw new SkillResourceNotTextError(path);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    throw new SkillResourceNotTextError(path);
  }
}

interface Wanted {
  readonly names: readonly string[];
  readonly limit: number;
  readonly signal: AbortSignal;
}

async function read(skill: SkillInfo, { names, limit, signal }: Wanted): Promise<Buffer> {
  const path = names.join('/');
  const folders = [...skill.path.split('/'), ...names.slice(0, -1)];
  try {
    return await closing(await OpenFolder.open(skill.base), async (base) =>
      closing(await base.folder(folders), (folder) =>
        folder.read(names.at(-1) ?? '', limit, signal),
      ),
    );
  } catch (error) {
    throw error instanceof ObstacleError ? refusal(skill, path, { error, limit }) : error;
  }
}

function refusal(
  skill: SkillInfo,
  path: string,
  { error, limit }: { error: ObstacleError; limit: number },
): Error {
  switch (error.obstacle) {
    case 'missing':
    case 'no-folder':
      return new NotFoundError(`The file ${path} of the skill ${skill.name}`);
    case 'too-large':
      return new SkillResourceTooLargeError(path, limit);
    case 'link':
      return new SkillResourcePathError(path, 'leads over a symbolic link');
    case 'no-file':
      return new SkillResourcePathError(path, 'does not name a regular file');
    case 'denied':
      return new SkillResourcePathError(
        path,
        'names a file that the service is not permitted to read',
      );
  }
}
