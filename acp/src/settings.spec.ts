import { describe, expect, it } from '@jest/globals';
import { localPath, readSettings, serverPath } from './settings.js';

const GIVEN = { PLINTH_URL: 'https://plinth.example', PLINTH_API_KEY: 'key' };

describe('the settings', () => {
  it('need an address and a key', () => {
    expect(readSettings(GIVEN)).toEqual({
      ...{ url: 'https://plinth.example', apiKey: 'key', model: undefined },
      ...{ mode: 'WORKSPACE_WRITE', roots: [] },
    });
    expect(() => readSettings({})).toThrow('Set PLINTH_URL');
    expect(() => readSettings({ ...GIVEN, PLINTH_URL: 'plinth' })).toThrow('Set PLINTH_URL');
    expect(() => readSettings({ PLINTH_URL: GIVEN.PLINTH_URL })).toThrow('Set PLINTH_API_KEY');
  });

  it.each([
    [{ PLINTH_MODE: 'ALL' }, 'PLINTH_MODE must be one of'],
    [{ PLINTH_ROOTS: 'code=/srv' }, 'PLINTH_ROOTS must be a list'],
    [{ PLINTH_ROOTS: '/code=srv' }, 'PLINTH_ROOTS must be a list'],
    [{ PLINTH_ROOTS: '/code' }, 'PLINTH_ROOTS must be a list'],
  ])('refuse %j: %s', (over, message) => {
    expect(() => readSettings({ ...GIVEN, ...over })).toThrow(message);
  });
});

describe('the folders of an editor', () => {
  const settings = readSettings({ ...GIVEN, PLINTH_ROOTS: '/home/me/code=/srv/work,/opt/a=/a' });

  it.each([
    ['/home/me/code/shop', '/srv/work/shop'],
    ['/home/me/code', '/srv/work'],
    ['/opt/a/b/c', '/a/b/c'],
    ['/home/me/codes', '/home/me/codes'],
    ['/elsewhere', '/elsewhere'],
  ])('%s is %s on the server, and back', (local, server) => {
    expect(serverPath(settings, local)).toBe(server);
    expect(localPath(settings, server)).toBe(local);
  });
});
