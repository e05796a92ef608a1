import type { MessageView } from '@plinth/client';
import type { Segment } from './turn';

const BETWEEN_STEPS = '\n\n';

const known = new WeakMap<MessageView, { readonly segments: readonly Segment[] }>();

/** The text of an answer with the calls of tools where they were made. */
export function answerOf(message: MessageView): { readonly segments: readonly Segment[] } {
  const found = known.get(message) ?? { segments: segmentsOf(message) };
  known.set(message, found);
  return found;
}

/** `content` has the texts of all steps, with a blank line between them. */
function segmentsOf({ content, steps }: MessageView): Segment[] {
  const segments: Segment[] = [];
  let rest = content;
  for (const { text, calls } of steps) {
    if (text !== '' && rest.startsWith(text)) {
      segments.push({ kind: 'text', text });
      rest = rest.slice(text.length);
      if (rest.startsWith(BETWEEN_STEPS)) rest = rest.slice(BETWEEN_STEPS.length);
    }
    if (calls.length > 0) segments.push({ kind: 'calls', calls });
  }
  const last = rest.replace(/^\n+/, '');
  if (last !== '') segments.push({ kind: 'text', text: last });
  return segments;
}
