export { attachEntities } from './attachment.entity.js';
export { AttachModule } from './attach.module.js';
