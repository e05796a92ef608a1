import { rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { changesOf, dependencyUp, errorsSince } from '../../support/outages.js';
import { Plinth } from '../../support/plinth.js';
import type { Session } from '../../support/session.js';
import { embeddedTemplate } from '../../support/template.js';
import { eventually } from '../../support/wait.js';

const UNAVAILABLE = {
  code: 503,
  msg: 'The file storage is not available at the moment. Try again in a few seconds.',
  data: null,
};

let plinth: Plinth;
let root: Session;

beforeAll(async () => {
  // Making the template starts a silent service, which would take the log of this one.
  await embeddedTemplate();
  plinth = await Plinth.start();
  root = await plinth.signIn();
});

afterAll(() => plinth.stop());

function form(): FormData {
  const data = new FormData();
  data.append('file', new Blob(['Some text.']), 'note.txt');
  return data;
}

describe('a file storage that fails', () => {
  it('is answered as 503, leaves one line in the log, and is used again when it works', async () => {
    const stored = await root.upload<{ ossId: string }>('/resource/oss/upload', form());
    expect(stored).toMatchObject({ code: 200 });
    const position = plinth.log.length;
    const folder = join(plinth.dataDir, 'files');
    await rename(folder, `${folder}-away`);
    // What fails for everybody, also for a superuser.
    await writeFile(folder, 'not a folder');

    for (let times = 0; times < 3; times += 1) {
      expect(await root.upload('/resource/oss/upload', form())).toEqual(UNAVAILABLE);
    }
    const { text, headers } = await root.raw('GET', `/resource/oss/download/${stored.data.ossId}`);
    expect([JSON.parse(text), headers['retry-after']]).toEqual([UNAVAILABLE, '5']);
    expect(await dependencyUp(plinth, 'files')).toBe(0);
    expect(errorsSince(plinth, position)).toEqual([]);
    expect(changesOf(plinth, 'files')).toEqual(['unavailable']);

    await rm(folder);
    await rename(`${folder}-away`, folder);
    await eventually(
      () => dependencyUp(plinth, 'files'),
      (up) => up === 1,
    );
    expect(await root.upload('/resource/oss/upload', form())).toMatchObject({ code: 200 });
    expect(changesOf(plinth, 'files')).toEqual(['unavailable', 'recovered']);
  });
});
