import { ChatMessage } from './message.entity.js';
import { ChatSession } from './session.entity.js';

export { ChatModule } from './chat.module.js';

export const chatEntities = [ChatSession, ChatMessage];
