import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeKey } from '../../support/api-keys.js';
import { Harness } from '../../support/harness.js';
import { attachmentsOf, createKnowledge } from '../../support/knowledge.js';
import { createModel } from '../../support/models.js';
import { runProgram } from '../../support/programs.js';

/** The programs of client/README.md, each with what it prints on the demo's models. */
const EXAMPLES = [
  ['models.mjs', /^coder$/m],
  ['chat.mjs', /\(stop\)/],
  ['upload.mjs', /The warranty of every laptop lasts two years\./],
  ['harness.mjs', /run\.completed/],
] as const;

const PERMISSIONS = [
  'chat:chat:use',
  'system:model:list',
  'system:info:add',
  'system:info:list',
  'system:attach:add',
  'system:attach:list',
  'system:fragment:list',
  'coding:harness:use',
];

const SYNC_PERMISSIONS = [
  'system:attach:edit',
  'system:attach:add',
  'system:attach:remove',
  'access:grant',
];

describe('an example of the README', () => {
  let world: Harness;
  let apiKey: string;
  let syncKey: string;
  let folder: string;

  beforeAll(async () => {
    world = await Harness.start();
    const { session, simulator } = world;
    await createModel(session, {
      ...{ category: 'vector', modelDimension: 64, modelName: 'sim-embed-64' },
      ...{ apiHost: `${simulator.url}/v1`, apiKey: 'key-of-the-service' },
    });
    ({ key: apiKey } = await makeKey(session, { permissions: PERMISSIONS }));
    ({ key: syncKey } = await makeKey(session, { permissions: SYNC_PERMISSIONS }));
    folder = await mkdtemp(join(tmpdir(), 'plinth-examples-'));
    // As an installation of the package would leave it.
    const packages = join(folder, 'node_modules', '@plinth');
    await mkdir(packages, { recursive: true });
    await symlink(resolve('client'), join(packages, 'client'));
  });

  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    await world.stop();
  });

  it('sync.mjs keeps a base like a folder, with its readers', async () => {
    const { session } = world;
    const base = await createKnowledge(session, { name: 'Folder' });
    const program = join(folder, 'sync.mjs');
    await writeFile(program, await exampleOf('sync.mjs'));
    const root = join(folder, 'documents');
    await mkdir(join(root, 'private'), { recursive: true });
    await writeFile(join(root, 'readers.json'), '{"public":true}');
    await writeFile(join(root, 'open.txt'), 'Open.');
    await writeFile(join(root, 'private', 'readers.json'), '{"users":["no-such-user"]}');
    await writeFile(join(root, 'private', 'secret.txt'), 'Secret.');
    const sync = () =>
      runProgram([process.execPath, program], {
        PLINTH_URL: world.plinth.url,
        PLINTH_KEY: syncKey,
        PLINTH_BASE: String(base),
        PLINTH_FOLDER: root,
      });

    expect(await sync()).toMatch(
      /^created open.txt$[^]*^created private\/secret.txt unknown: no-such-user$/m,
    );
    await rm(join(root, 'open.txt'));
    expect(await sync()).toMatch(/^unchanged private\/secret.txt unknown: no-such-user\n$/);
    expect(await attachmentsOf(session, base)).toMatchObject([{ name: 'secret.txt' }]);
  });

  it.each(EXAMPLES)('%s runs as it stands there', async (name, printed) => {
    const program = join(folder, name);
    await writeFile(program, await exampleOf(name));
    expect(
      await runProgram([process.execPath, program], {
        PLINTH_URL: world.plinth.url,
        PLINTH_KEY: apiKey,
        PLINTH_WORKSPACE: world.workspace,
      }),
    ).toMatch(printed);
  });
});

async function exampleOf(name: string): Promise<string> {
  const text = await readFile('client/README.md', 'utf8');
  const example = text.split('```js\n').find((block) => block.startsWith(`// ${name}\n`));
  if (example === undefined) throw new Error(`client/README.md has no example ${name}.`);
  return example.split('\n```')[0] ?? '';
}
