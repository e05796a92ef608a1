import { recordTask } from '../media/recorded-task.js';
import { fresh } from './records.js';
import type { RecordKind } from './records.js';

/** Nobody but the user who gave it. */
export const mediaTask: RecordKind = {
  owner: 'user',
  missing: '987654321',
  make: ({ session }, { plinth }) => recordTask(plinth, session, fresh('Waves ')),
};
