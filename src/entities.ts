import { agentEntities } from './agent/index.js';
import { attachEntities } from './attach/index.js';
import { auditEntities } from './platform/audit/index.js';
import { chatEntities } from './chat/index.js';
import { dictionaryEntities } from './dictionary/index.js';
import { fragmentEntities } from './fragment/index.js';
import { harnessEntities } from './harness/index.js';
import { identityEntities } from './identity/index.js';
import { knowledgeEntities } from './knowledge/index.js';
import { mediaEntities } from './media/index.js';
import { modelEntities } from './model/index.js';
import { providerEntities } from './provider/index.js';
import { retrievalEntities } from './retrieval/index.js';
import { storageEntities } from './platform/storage/index.js';
import { vectorStoreEntities } from './vector-store/index.js';

/** Every entity of every feature, for the data source and the TypeORM command line. */
export const entities = [
  ...auditEntities,
  ...storageEntities,
  ...identityEntities,
  ...dictionaryEntities,
  ...providerEntities,
  ...modelEntities,
  ...vectorStoreEntities,
  ...knowledgeEntities,
  ...fragmentEntities,
  ...attachEntities,
  ...retrievalEntities,
  ...mediaEntities,
  ...agentEntities,
  ...chatEntities,
  ...harnessEntities,
];
