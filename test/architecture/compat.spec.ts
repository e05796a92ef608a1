import { expect, it } from '@jest/globals';
import { describeApi } from '../../src/app.js';
import { loadConfig } from '../../src/platform/config/index.js';

/** The paths of the OpenAPI document with the tag of the routes for existing consoles, and all others. */
async function pathsWith(setting: 'on' | 'off') {
  const { paths } = await describeApi(loadConfig({ EXISTING_CONSOLES: setting }));
  const [compat, others]: string[][] = [[], []];
  for (const [path, operations] of Object.entries(paths)) {
    const tags = Object.values(operations as Record<string, { tags?: string[] }>).flatMap(
      (operation) => operation.tags ?? [],
    );
    (tags.includes('existing consoles') ? compat : others)?.push(path);
  }
  return { compat, others };
}

it('the routes for existing consoles are absent when they are switched off, and no others', async () => {
  const [on, off] = [await pathsWith('on'), await pathsWith('off')];

  expect(on.compat).toEqual(
    expect.arrayContaining(['/system/menu/getRouters', '/resource/sse', '/workflow/public/search']),
  );
  expect(off).toEqual({ compat: [], others: on.others });
});
