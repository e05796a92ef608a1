export { ChatModule } from './chat.module.js';
