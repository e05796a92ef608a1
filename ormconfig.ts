import { join } from 'node:path';
import { loadConfig } from './src/platform/config/index.js';
import { createDataSource, openEmbedded } from './src/platform/database/index.js';

/** The data source of the TypeORM command line, e.g. `npx typeorm -d dist/ormconfig.js migration:show`. */
const config = loadConfig(process.env);
const embedded = config.embedded ? await openEmbedded(config.DATA_DIR) : undefined;

export default createDataSource({
  entities: [join(import.meta.dirname, 'src/**/*.entity.js')],
  url: config.DATABASE_URL,
  embedded: embedded?.database,
  poolSize: 2,
});
