import { SkillResourcePathError } from './skill.errors.js';

/** The limits of Linux. */
const PATH_BYTES = 4_096;
const NAME_BYTES = 255;

/**
 * The segments of a path inside a skill; the last one is the file. Nothing is decoded or normalised: a different
 * spelling is a different file. SkillResourcePathError for every path that could lead outside; `..` is always refused.
 */
export function resourceNames(path: string): readonly string[] {
  const refuse = (why: string): never => {
    throw new SkillResourcePathError(path, why);
  };
  if (path === '') refuse('is empty');
  if (Buffer.byteLength(path) > PATH_BYTES) refuse(`is longer than ${PATH_BYTES} bytes`);
  if (/[\x00-\x1f\x7f]/.test(path)) refuse('contains a control character');
  if (path.includes('\\')) refuse('contains a backslash; separate names with /');
  if (path.startsWith('/') || /^[a-z]:/i.test(path)) refuse('is absolute');
  const names = path.split('/').filter((name) => name !== '.');
  if (names.includes('..')) refuse('contains ..');
  if (names.length === 0 || names.includes('')) refuse('does not name a file');
  if (names.some((name) => Buffer.byteLength(name) > NAME_BYTES)) {
    refuse(`contains a name of more than ${NAME_BYTES} bytes`);
  }
  return names;
}
