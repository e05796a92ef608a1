import { Access1763683200001 } from './1-access.js';
import { Administration1763683200002 } from './2-administration.js';
import { Models1763683200003 } from './3-models.js';
import { Chat1763683200004 } from './4-chat.js';
import { Knowledge1763683200005 } from './5-knowledge.js';
import { Agents1763683200006 } from './6-agents.js';

/** In the order in which they run. */
export const migrations = [
  Access1763683200001,
  Administration1763683200002,
  Models1763683200003,
  Chat1763683200004,
  Knowledge1763683200005,
  Agents1763683200006,
];
