import { isSuperAdmin } from '../platform/access/index.js';
import type { Caller } from '../platform/access/index.js';
import type { KnowledgeBase } from './knowledge.entity.js';

/** The one rule of who may do what with a knowledge base of the caller's tenant; its repository says it in SQL. */
export function mayRead(caller: Caller, knowledge: KnowledgeBase): boolean {
  return mayWrite(caller, knowledge) || knowledge.share === 1;
}

export function mayWrite(caller: Caller, { userId }: KnowledgeBase): boolean {
  return isSuperAdmin(caller) || userId === caller.userId;
}
