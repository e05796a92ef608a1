import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import { ToolFailure } from './agent-tool.js';
import type { AgentTool, ToolContext, ToolOutcome } from './agent-tool.js';

const input = z.strictObject({
  timeZone: z
    .string()
    .max(64)
    .optional()
    .describe('IANA name such as Europe/Berlin. Default: the time zone of the user.'),
});
type Input = z.infer<typeof input>;

const DEFAULT_ZONE = 'UTC';

/** Tells date, time and day of the week. */
@Injectable()
export class CurrentTimeTool implements AgentTool<Input> {
  readonly name = 'current_time';
  readonly input = input;
  readonly description =
    'Tells the current date, time and day of the week. Call it before you answer anything that depends on today.';

  async run({ timeZone }: Input, context: ToolContext): Promise<ToolOutcome> {
    const zone = timeZone?.trim() || context.timeZone || DEFAULT_ZONE;
    const now = timeIn(zone, new Date());
    return { content: now, summary: now };
  }
}

/** `2026-11-23T00:17:42+01:00, Monday, time zone Europe/Berlin`. */
function timeIn(zone: string, now: Date): string {
  const format = formatOf(zone);
  const parts = new Map(format.formatToParts(now).map(({ type, value }) => [type, value]));
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.get(type) ?? '';
  const date = `${part('year')}-${part('month')}-${part('day')}`;
  const time = `${part('hour')}:${part('minute')}:${part('second')}`;
  // "GMT+01:00", and "GMT" alone for no offset.
  const offset = part('timeZoneName').replace('GMT', '') || '+00:00';
  const { timeZone } = format.resolvedOptions();
  return `${date}T${time}${offset}, ${part('weekday')}, time zone ${timeZone}`;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  try {
    return new Intl.DateTimeFormat('en-GB', {
      timeZone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
      weekday: 'long',
      timeZoneName: 'longOffset',
    });
  } catch {
    throw new ToolFailure(
      `There is no time zone "${timeZone.slice(0, 64)}". Give an IANA name such as Europe/Berlin or UTC, or leave timeZone out.`,
    );
  }
}
