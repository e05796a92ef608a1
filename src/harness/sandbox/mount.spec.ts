import { describe, expect, it } from '@jest/globals';
import { bytesOf, foldersAbove, ordered, textOf } from './workspace-scan.js';
import type { Cover, Mount } from './workspace-scan.js';

function mounts(covers: Record<string, Cover>): Mount[] {
  return Object.entries(covers).map(([path, cover]) => ({ path, cover }));
}

describe('mounts', () => {
  it('are made from the outside to the inside', () => {
    const given = mounts({ 'a/b/c': 'read-only', z: 'read-only', 'a/b': 'pinned', a: 'pinned' });
    expect(ordered(given).map(({ path }) => path)).toEqual(['a', 'z', 'a/b', 'a/b/c']);
  });

  it('are one a path, the strictest', () => {
    const given: Mount[] = [
      { path: 'a', cover: 'pinned' },
      { path: 'a', cover: 'hidden-file' },
      { path: 'a', cover: 'read-only' },
    ];
    expect(ordered(given)).toEqual([{ path: 'a', cover: 'hidden-file' }]);
    expect(ordered(given.toReversed())).toEqual([{ path: 'a', cover: 'hidden-file' }]);
  });

  it('are not made below a hidden folder', () => {
    const given = mounts({
      a: 'hidden-folder',
      'a/b': 'read-only',
      'a/b/c': 'hidden-file',
      ab: 'pinned',
    });
    expect(ordered(given).map(({ path }) => path)).toEqual(['a', 'ab']);
  });

  it('make nothing writable again below what is read-only', () => {
    const given = mounts({
      a: 'read-only',
      'a/b': 'pinned',
      'a/b/c': 'read-only',
      'a/d': 'hidden-file',
    });
    expect(ordered(given).map(({ path }) => path)).toEqual(['a', 'a/d', 'a/b/c']);
  });

  it('are paths of bytes', () => {
    expect(textOf(bytesOf('ä/文'))).toBe('ä/文');
    expect(bytesOf('ä')).toHaveLength(2);
    expect(foldersAbove('a/b/c')).toEqual(['a', 'a/b']);
    expect(foldersAbove('a')).toEqual([]);
  });
});
