export { modelEntities } from './model.entity.js';
export { ModelModule } from './model.module.js';
export { ModelResolver } from './model.resolver.js';
export type { ResolvedChatModel, ResolvedModel } from './model.resolver.js';
export { ModelService } from './model.service.js';
