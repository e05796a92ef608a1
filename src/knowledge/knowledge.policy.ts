import { isSuperAdmin } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

/** Who may read and change a knowledge base of the caller's tenant; the repository has the same rule in SQL. */
export function mayRead(caller: Caller, knowledge: KnowledgeBase): boolean {
  return mayWrite(caller, knowledge) || knowledge.share === 1;
}

export function mayWrite(caller: Caller, { userId }: KnowledgeBase): boolean {
  return isSuperAdmin(caller) || userId === caller.userId;
}
