import { spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSimulator } from '../../../simulator/index.js';
import type { Simulator } from '../../../simulator/index.js';
import { makeKey } from '../../support/api-keys.js';
import { attachmentsOf, createKnowledge } from '../../support/knowledge.js';
import { createModel, createProvider } from '../../support/models.js';
import { Plinth } from '../../support/plinth.js';
import { runProgram } from '../../support/programs.js';

/**
 * The Python client is generated from the document of the build, and the example of its README runs. `.ci/run` names a Python with
 * openapi-python-client in PLINTH_PYTHON; without it the suite is skipped (docs/TESTING.md).
 */
const python = process.env['PLINTH_PYTHON'] ?? '';
if (python === '') process.stdout.write('Skipped: PLINTH_PYTHON is not set.\n');
const describeWithPython = python === '' ? describe.skip : describe;

describeWithPython('the Python client', () => {
  let simulator: Simulator;
  let plinth: Plinth;
  let apiKey: string;
  let folder: string;
  let packageFolder: string;

  beforeAll(async () => {
    // A copy, because what is generated belongs to no source that other checks read meanwhile.
    folder = await mkdtemp(join(tmpdir(), 'plinth-python-'));
    packageFolder = join(folder, 'client', 'python');
    await cp('client/document.mjs', join(folder, 'client', 'document.mjs'));
    await cp('client/python', packageFolder, { recursive: true });
    const { status, stderr } = spawnSync(
      process.execPath,
      [join(packageFolder, 'generate.mjs'), resolve('dist/openapi.json'), python],
      { encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(stderr);
    simulator = await startSimulator();
    plinth = await Plinth.start();
    const admin = await plinth.signIn();
    await createProvider(admin, 'custom_api');
    const service = { apiHost: `${simulator.url}/v1`, apiKey: 'key-of-the-service' };
    await createModel(admin, { ...service, modelName: 'sim-chat' });
    const permissions = ['chat:chat:use', 'system:model:list'];
    ({ key: apiKey } = await makeKey(admin, { permissions }));
  });

  afterAll(async () => {
    await plinth.stop();
    await simulator.close();
    await rm(folder, { recursive: true, force: true });
  });

  const run = (program: string, environment: Record<string, string> = {}): Promise<string> =>
    runProgram([python, program], {
      PYTHONPATH: packageFolder,
      PYTHONDONTWRITEBYTECODE: '1',
      PLINTH_URL: plinth.url,
      PLINTH_KEY: apiKey,
      ...environment,
    });

  it('runs the example of its README', async () => {
    const text = await readFile(join(packageFolder, 'README.md'), 'utf8');
    const example = /```python\n(# example\.py\n[^`]*)```/.exec(text)?.[1];
    if (example === undefined) throw new Error('The README has no example.');
    const program = join(folder, 'example.py');
    await writeFile(program, example);

    expect(await run(program)).toMatch(/^Model: sim-chat\n.+\n\(stop\)\n$/s);
  });

  it('keeps a base like a folder with its readers', async () => {
    const text = await readFile(join(packageFolder, 'README.md'), 'utf8');
    const example = /```python\n(# sync\.py\n[^`]*)```/.exec(text)?.[1];
    if (example === undefined) throw new Error('The README has no example sync.py.');
    const program = join(folder, 'sync.py');
    await writeFile(program, example);
    const root = join(folder, 'documents');
    await mkdir(root);
    await writeFile(join(root, 'readers.json'), '{"users":["no-such-user"]}');
    await writeFile(join(root, 'note.txt'), 'A note.');
    const admin = await plinth.signIn();
    const base = await createKnowledge(admin, { name: 'Folder' });
    const names = ['system:attach:edit', 'system:attach:add', 'system:attach:remove'];
    const { key } = await makeKey(admin, { permissions: [...names, 'access:grant'] });
    const place = { PLINTH_KEY: key, PLINTH_BASE: String(base), PLINTH_FOLDER: root };

    expect(await run(program, place)).toBe('created note.txt no-such-user\n');
    await writeFile(join(root, 'other.txt'), 'Another note.');
    await rm(join(root, 'note.txt'));
    expect(await run(program, place)).toBe('created other.txt no-such-user\n');
    expect(await attachmentsOf(admin, base)).toMatchObject([{ name: 'other.txt' }]);
  });

  it('raises what a refusal says', async () => {
    const program = join(folder, 'refusal.py');
    await writeFile(
      program,
      `import os
from plinth import ApiError, Plinth

with Plinth(os.environ["PLINTH_URL"], api_key=os.environ["PLINTH_KEY"]) as plinth:
    try:
        list(plinth.stream_chat(model="no-such-model", content="Hello"))
    except ApiError as error:
        print(error.code, error.status, error.request_id is not None)
`,
    );

    expect(await run(program)).toBe('404 200 True\n');
  });
});
