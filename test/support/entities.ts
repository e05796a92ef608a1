import { getMetadataArgsStorage } from 'typeorm';
import '../../src/app.module.js';

/** Every entity: with the modules, all their files are loaded. */
export const entities = getMetadataArgsStorage()
  .tables.map(({ target }) => target)
  .filter((target) => typeof target === 'function') as (new () => object)[];
