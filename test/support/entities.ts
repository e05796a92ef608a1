import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { getMetadataArgsStorage } from 'typeorm';

const source = fileURLToPath(new URL('../../src/', import.meta.url));

/** Every entity below src, whichever module registers it. */
export const entities = await entityClasses();

async function entityClasses(): Promise<(new () => object)[]> {
  const files = globSync('**/*.entity.ts', { cwd: source });
  const modules = await Promise.all(
    files.map(async (file) => (await import(`${source}${file}`)) as Record<string, unknown>),
  );
  const exported = new Set(modules.flatMap((module) => Object.values(module)));
  return getMetadataArgsStorage()
    .tables.map(({ target }) => target)
    .filter((target) => typeof target === 'function' && exported.has(target)) as (new () => object)[];
}
