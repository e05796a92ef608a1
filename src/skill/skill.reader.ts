import { NotFoundError } from '../platform/error/index.js';
import { closing, ObstacleError, OpenFolder } from '../platform/filesystem/index.js';
import { msg } from '../platform/message/index.js';
import type { Message } from '../platform/message/index.js';
import {
  SkillResourcePathError,
  readSkillText,
  InvalidSkillError,
  SkillResourceNotTextError,
  SkillResourceTooLargeError,
  SKILL_LIMITS,
} from './skill-text.js';
import type { SkillInfo, SkillText } from './skill-text.js';
import { ENTRY_FILE } from './skill.scan.js';

/** Path limits of Linux. */
const MAX_PATH_BYTES = 4_096;
const MAX_NAME_BYTES = 255;

/**
 * The segments of a path inside a skill; the last one is the file. Nothing is decoded or normalised: a different
 * spelling is a different file. SkillResourcePathError for every path that could lead outside; `..` is always refused.
 */
export function resourceNames(path: string): readonly string[] {
  const refuse = (why: Message): never => {
    throw new SkillResourcePathError(path, why);
  };
  if (path === '') refuse(msg`is empty`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) refuse(msg`is longer than ${MAX_PATH_BYTES} bytes`);
  if (/[\x00-\x1f\x7f]/.test(path)) refuse(msg`contains a control character`);
  if (path.includes('\\')) refuse(msg`contains a backslash; separate names with /`);
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) refuse(msg`is absolute`);
  const names = path.split('/').filter((name) => name !== '.');
  if (names.includes('..')) refuse(msg`contains ..`);
  if (names.length === 0 || names.includes('')) refuse(msg`does not name a file`);
  if (names.some((name) => Buffer.byteLength(name) > MAX_NAME_BYTES)) {
    refuse(msg`contains a name of more than ${MAX_NAME_BYTES} bytes`);
  }
  return names;
}

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
      msg`The skill ${skill.name} is now named ${text.name}. Load the skills again.`,
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
      return new NotFoundError(msg`The file ${path} of the skill ${skill.name}`);
    case 'too-large':
      return new SkillResourceTooLargeError(path, limit);
    case 'link':
      return new SkillResourcePathError(path, msg`leads over a symbolic link`);
    case 'no-file':
      return new SkillResourcePathError(path, msg`does not name a regular file`);
    case 'denied':
      return new SkillResourcePathError(
        path,
        msg`names a file that the service is not permitted to read`,
      );
  }
}
