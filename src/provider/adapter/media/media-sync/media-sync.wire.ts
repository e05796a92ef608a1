import { z } from 'zod';
import { wireId, wireText } from '../media.wire.js';

const items = z
  .array(z.object({ url: wireText, b64_json: wireText }))
  .nullish()
  .catch(null);

export const imagesSchema = z.object({ data: items });

export const videoSchema = z.object({ id: wireId, status: wireText, url: wireText, data: items });
