/** Control characters and bidirectional marks, with which "gpj.exe" is displayed as "exe.jpg". */
const UNSEEN = /[\p{Cc}\p{Zl}\p{Zp}\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/gu;

/** Path separators and characters that file systems of clients refuse in a name. */
const FORBIDDEN = /[\\/:*?"<>|]/g;

const MAX_NAME_CHARS = 255;
const MAX_SUFFIX_CHARS = 20;

/** The display name of an uploaded file: without path, invisible characters and excess length. */
export function displayName(originalName: string): string {
  const name = originalName
    .toWellFormed()
    .normalize('NFC')
    .replace(/^.*[\\/]/s, '')
    .replace(UNSEEN, '')
    .replace(FORBIDDEN, '_')
    .trim();
  if (name === '' || /^\.+$/.test(name)) return 'file';
  const suffix = suffixOf(name);
  const stem = [...name.slice(0, name.length - suffix.length)];
  return stem.slice(0, MAX_NAME_CHARS - [...suffix].length).join('') + suffix;
}

/** The suffix with its dot, as written in the name; empty when there is none. */
export function suffixOf(name: string): string {
  const [suffix = ''] = /(?<=.)\.[\p{L}\p{N}]+$/u.exec(name) ?? [];
  return suffix.length <= MAX_SUFFIX_CHARS ? suffix : '';
}
