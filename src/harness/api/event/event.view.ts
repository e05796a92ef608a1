import { integer, nullable, schema, text, uuid, View } from '../../../platform/http/index.js';
import type { StoredEvent } from '../../store/event.repository.js';

const SCHEMA_VERSION = 1;

/** One event of a run. Existing clients read these names strictly; ids that do not apply are null. */
export class EventView extends View({
  schemaVersion: integer({ example: SCHEMA_VERSION }),
  eventId: text({ example: '019a9c1e-7c7e-7b6e-8a52-3f6f6d0f5b11-1' }),
  sessionId: uuid(),
  runId: uuid(),
  sequence: integer({ example: 1, description: 'From 1 without gaps in a run' }),
  timestamp: integer({ example: 1_767_225_600_000, description: 'Epoch milliseconds' }),
  type: text({ example: 'run.created' }),
  stepId: nullable(text({ example: 'step-1' })),
  toolCallId: nullable(uuid()),
  approvalId: nullable(uuid()),
  data: schema<Record<string, unknown>>({
    type: 'object',
    additionalProperties: true,
    description: 'Depends on the type',
  }),
}) {}

export function toEventView(event: StoredEvent): EventView {
  return { ...headOf(event), data: JSON.parse(event.data) as Record<string, unknown> };
}

/**
 * The same object as a server-sent event whose id is its number in what is read. The data goes in as the text that the database gives:
 * reading and writing it again would be most of the work of a replay.
 */
export function eventFrame(event: StoredEvent): string {
  const head = JSON.stringify(headOf(event)).slice(0, -1);
  return `id: ${event.position}\nevent: ${event.type}\ndata: ${head},"data":${event.data}}\n\n`;
}

function headOf(event: StoredEvent): Omit<EventView, 'data'> {
  const { sessionId, runId, sequence, timestamp, type, stepId, toolCallId, approvalId } = event;
  return {
    schemaVersion: SCHEMA_VERSION,
    eventId: `${runId}-${sequence}`,
    sessionId,
    runId,
    sequence,
    timestamp,
    type,
    stepId,
    toolCallId,
    approvalId,
  };
}
