import { z } from 'zod';
import { wireId, wireText } from '../media.wire.js';

/** A resource is a link, or an object with one. */
const resource = z
  .union([z.string(), z.object({ url: wireText, video_url: wireText }).transform(linkOf)])
  .nullish()
  .catch(null);

/** Models name the last frame of a video differently. */
const lastFrames = {
  last_frame_url: resource,
  end_frame_url: resource,
  last_frame: resource,
  last_frame_image: resource,
};

export const predictionSchema = z.object({
  data: z.object({
    id: wireId,
    status: wireText,
    outputs: z.array(resource).nullish().catch(null),
    ...lastFrames,
  }),
});

function linkOf(holder: {
  url?: string | null | undefined;
  video_url?: string | null | undefined;
}): string | null {
  return holder.url ?? holder.video_url ?? null;
}
