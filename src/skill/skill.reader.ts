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

/** The skill's SKILL.md as it is now. InvalidSkillError when it breaks the rules, or has become another skill's. */
export async function readSkill(skill: SkillInfo, signal: AbortSignal): Promise<SkillText> {
  const bytes = await read(skill, {
    names: [ENTRY_FILE],
    limit: SKILL_LIMITS.entryFileBytes,
    signal,
  });
  const text = readSkillText(bytes);
  if (text.name !== skill.name) {
    throw new InvalidSkillError(
      `The skill ${skill.name} is now named ${text.name}. Look for skills again.`,
    );
  }
  return text;
}

/**
 * A text file of the skill, named by its path below the skill's folder (specification, Error 10 and Limits). It is
 * refused when the path could lead elsewhere, a link lies on it, or the file is larger than 1 MiB, no regular file or
 * no UTF-8 text; each error says which.
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
      return new SkillResourcePathError(path, 'names no regular file');
    case 'denied':
      return new SkillResourcePathError(path, 'names a file that the service may not read');
  }
}
