import { randomInt } from 'node:crypto';

const CHARACTERS = 'abcdefghijklmnopqrstuvwxyz0123456789';
const LENGTH = 10;

/** Ten random characters of a-z and 0-9, by which clients name a document (docId) or a fragment (fid). */
export function randomName(): string {
  return Array.from({ length: LENGTH }, () => CHARACTERS[randomInt(CHARACTERS.length)]).join('');
}
