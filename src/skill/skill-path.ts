import { SkillResourcePathError } from './skill.errors.js';

/** What Linux takes. */
const PATH_BYTES = 4_096;
const NAME_BYTES = 255;

/**
 * The names that a path inside of a skill is made of; the last one is the file's. Nothing is decoded or normalised: a
 * name in another spelling names another file. SkillResourcePathError for every path that could lead elsewhere, `..`
 * included where it would lead back inside.
 */
export function resourceNames(path: string): readonly string[] {
  const refuse = (why: string): never => {
    throw new SkillResourcePathError(path, why);
  };
  if (path === '') refuse('is empty');
  if (Buffer.byteLength(path) > PATH_BYTES) refuse(`is longer than ${PATH_BYTES} bytes`);
  if (/[\x00-\x1f\x7f]/.test(path)) refuse('holds a control character');
  if (path.includes('\\')) refuse('holds a backslash; names are parted by /');
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) refuse('is absolute');
  const names = path.split('/').filter((name) => name !== '.');
  if (names.includes('..')) refuse('holds ..');
  if (names.length === 0 || names.includes('')) refuse('names no file');
  if (names.some((name) => Buffer.byteLength(name) > NAME_BYTES)) {
    refuse(`holds a name of more than ${NAME_BYTES} bytes`);
  }
  return names;
}
