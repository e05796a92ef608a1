import { identityEntities } from './identity/index.js';

/** Every entity of every feature, for the data source and the TypeORM command line. */
export const entities = [...identityEntities];
