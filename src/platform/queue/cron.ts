import { Cron } from 'croner';
import { InvalidInputError } from '../error/index.js';
import { msg } from '../message/index.js';

/** A pattern of five fields, and the zone of its hours; null is the zone of the service. */
export interface CronTimes {
  readonly cron: string;
  readonly timeZone: string | null;
}

class InvalidScheduleError extends InvalidInputError {
  constructor() {
    super(
      msg`The schedule is not valid. cron has five fields, such as 0 6 * * 1-5, and timeZone is a name such as Europe/Berlin.`,
    );
  }
}

/** The first time after the given one; null where there is none. */
export function nextTime({ cron, timeZone }: CronTimes, after: Date): Date | null {
  const options = { paused: true, mode: '5-part' as const };
  return new Cron(cron, { ...options, ...(timeZone !== null && { timezone: timeZone }) }).nextRun(
    after,
  );
}

/** Throws InvalidScheduleError for a pattern or zone that names no time to come. */
export function requireTimes(times: CronTimes): void {
  try {
    if (nextTime(times, new Date())) return;
  } catch {
    // croner throws plain errors for patterns and time zones.
  }
  throw new InvalidScheduleError();
}
