import { posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ToolError } from '../protocol/tool-call.js';
import { relativePath } from './workspace-path.js';

const ROOT = '/srv/ws';

function pathOf(given: string): string {
  return relativePath(ROOT, given);
}

function codeOf(given: string): string {
  try {
    return `accepted as ${pathOf(given)}`;
  } catch (error) {
    if (error instanceof ToolError) return error.code;
    throw error;
  }
}

describe('the path below a workspace', () => {
  it.each([
    ['src/a.ts', 'src/a.ts'],
    ['./src//a.ts', 'src/a.ts'],
    ['src/', 'src'],
    ['src/../lib/./b.ts', 'lib/b.ts'],
    ['', ''],
    ['.', ''],
    ['/srv/ws', ''],
    ['/srv/ws/', ''],
    ['/srv/ws/src/a.ts', 'src/a.ts'],
    ['/srv/./ws/../ws/a.ts', 'a.ts'],
    ['..foo/...bar', '..foo/...bar'],
    ['~/a', '~/a'],
    ['%2e%2e/a', '%2e%2e/a'],
    ['a b/ü/世界.md', 'a b/ü/世界.md'],
    ['x'.repeat(255), 'x'.repeat(255)],
  ])('of %j is %j', (given, path) => {
    expect(pathOf(given)).toBe(path);
  });

  it.each([
    ['..', 'OUTSIDE_WORKSPACE'],
    ['../ws-evil/a', 'OUTSIDE_WORKSPACE'],
    ['a/../../b', 'OUTSIDE_WORKSPACE'],
    ['/srv/ws-evil/a', 'OUTSIDE_WORKSPACE'],
    ['/srv/w', 'OUTSIDE_WORKSPACE'],
    ['/srv/ws/../ws-evil', 'OUTSIDE_WORKSPACE'],
    ['/', 'OUTSIDE_WORKSPACE'],
    ['a\0b', 'PATH_INVALID'],
    ['a\tb', 'PATH_INVALID'],
    ['a\u0085b', 'PATH_INVALID'],
    ['a\udc00', 'PATH_INVALID'],
    ['a\\b', 'PATH_INVALID'],
    ['x'.repeat(256), 'PATH_INVALID'],
    ['a/'.repeat(2_049), 'PATH_INVALID'],
  ])('is refused for %j as %s', (given, code) => {
    expect(codeOf(given)).toBe(code);
  });

  it('always names something at or below the root, in one way', () => {
    const piece = fc.oneof(
      fc.constantFrom('..', '.', '', 'a', 'ws', 'ws-evil', '~', 'srv', ROOT, '\\', '\0', '．．'),
      fc.string({ unit: 'binary', maxLength: 8 }),
    );
    const given = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('/'));
    fc.assert(
      fc.property(given, (text) => {
        let path: string;
        try {
          path = pathOf(text);
        } catch (error) {
          expect(error).toBeInstanceOf(ToolError);
          return;
        }
        const absolute = posix.join(ROOT, path);
        expect(absolute === ROOT || absolute.startsWith(`${ROOT}/`)).toBe(true);
        expect(absolute).toBe(posix.resolve(ROOT, text).replace(/(?<=.)\/$/, ''));
        expect(path.split('/').some((name) => name === '..' || name === '.')).toBe(false);
        expect(path).not.toMatch(/\p{Cc}|\\|\/\/|^\/|\/$/u);
        expect(pathOf(path)).toBe(path);
        expect(pathOf(absolute)).toBe(path);
      }),
      { numRuns: 5_000 },
    );
  });
});
