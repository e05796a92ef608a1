import { execFileSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

/** An installation with one package that only development needs: it makes the program `node` when it is installed. */
describe('the installation of the packages', () => {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-install-'));
  const program = join(folder, 'node_modules', '.bin', 'node');

  beforeAll(() => {
    const write = (path: string, content: object): void =>
      writeFileSync(join(folder, path), JSON.stringify(content));
    for (const name of ['scripts', 'node']) mkdirSync(join(folder, name));
    copyFileSync(resolve('scripts/prepare.mjs'), join(folder, 'scripts', 'prepare.mjs'));
    const dependency = { name: 'node', version: '1.0.0', bin: 'node.js' };
    const scripts = { preinstall: `node -e "fs.writeFileSync('node.js', '')"` };
    write('node/package.json', { ...dependency, scripts });
    const devDependencies = { node: 'file:node' };
    write('package.json', { name: 'installed', devDependencies });
    write('package-lock.json', {
      name: 'installed',
      lockfileVersion: 3,
      packages: {
        '': { name: 'installed', devDependencies },
        'node_modules/node': { resolved: 'node', link: true },
        node: { ...dependency, dev: true, hasInstallScript: true },
      },
    });
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('is whole where the environment and the settings of npm leave packages and scripts out', () => {
    writeFileSync(join(folder, '.npmrc'), 'omit=dev\nignore-scripts=true\n');
    const prepare = join(folder, 'scripts', 'prepare.mjs');
    execFileSync('node', [prepare, 'install'], {
      env: { PATH: process.env['PATH'], HOME: folder, NODE_ENV: 'production' },
      stdio: 'pipe',
    });

    expect(existsSync(program)).toBe(true);
  });
});
