import { Access1763683200001 } from './1-access.js';
import { Administration1763683200002 } from './2-administration.js';
import { Models1763683200003 } from './3-models.js';
import { Chat1763683200004 } from './4-chat.js';

/** In the order in which they run. */
export const migrations = [
  Access1763683200001,
  Administration1763683200002,
  Models1763683200003,
  Chat1763683200004,
];
