import type { MessageView } from '@plinth/client';
import type { Segment } from './turn';

const BETWEEN_STEPS = '\n\n';

const cache = new WeakMap<MessageView, { readonly segments: readonly Segment[] }>();

/** Segments of an answer: its text with the tool calls at their positions. */
export function answerOf(message: MessageView): { readonly segments: readonly Segment[] } {
  const parts = cache.get(message) ?? { segments: segmentsOf(message) };
  cache.set(message, parts);
  return parts;
}

/** Splits `content`, which joins the texts of all steps with blank lines. */
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
