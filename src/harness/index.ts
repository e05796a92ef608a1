export { Artifacts } from './change/blob.store.js';
export { HarnessFailureData } from './api/failure.view.js';
export { HarnessModule } from './harness.module.js';
export { RunService } from './api/run/run.service.js';
