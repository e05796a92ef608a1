import type { AccessView } from '@plinth/client';

export type Level = AccessView['levels'][number];

/** Whether a user whose grants give the level may change the record. */
export function isChangeable(level: Level): boolean {
  return level === 'write' || level === 'manage';
}
