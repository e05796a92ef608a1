import { loadConfig } from './src/platform/config/index.js';
import { createDataSource, openEmbedded } from './src/platform/database/index.js';
import { entities } from './src/entities.js';

/** The data source of the TypeORM command line, e.g. `npx typeorm -d dist/ormconfig.js migration:show`. */
const config = loadConfig(process.env);
const embedded = config.embedded ? await openEmbedded(config.DATA_DIR) : undefined;

export default createDataSource({
  entities,
  url: config.DATABASE_URL,
  embedded: embedded?.database,
  poolSize: 2,
});
