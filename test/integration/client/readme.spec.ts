import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { makeKey } from '../../support/api-keys.js';
import { Harness } from '../../support/harness.js';
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

describe('an example of the README', () => {
  let world: Harness;
  let apiKey: string;
  let folder: string;

  beforeAll(async () => {
    world = await Harness.start();
    const { session, simulator } = world;
    await createModel(session, {
      ...{ category: 'vector', modelDimension: 64, modelName: 'sim-embed-64' },
      ...{ apiHost: `${simulator.url}/v1`, apiKey: 'key-of-the-service' },
    });
    ({ key: apiKey } = await makeKey(session, { permissions: PERMISSIONS }));
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
