export { HarnessFailureData } from './api/failure.view.js';
export { HarnessModule } from './harness.module.js';
