import { Injectable } from '@nestjs/common';
import { z } from 'zod';
import type { ResolvedChatModel } from '../../model/index.js';
import type { ContentPart } from '../../provider/index.js';
import { Artifacts } from '../change/artifacts.js';
import type { HarnessRun } from '../store/harness.entity.js';
import type { TurnMessage } from '../store/message.repository.js';

const shape = z.object({
  images: z.array(
    z.object({ artifactId: z.string(), mediaType: z.string(), detail: z.string().optional() }),
  ),
});

/** The images of a requirement. */
@Injectable()
export class RunImages {
  constructor(private readonly artifacts: Artifacts) {}

  /** As parts of the message, in their order. A text stands for those that cannot be shown. */
  async of(
    run: Pick<HarnessRun, 'id' | 'tenantId'>,
    message: TurnMessage | undefined,
    { supportsVision }: Pick<ResolvedChatModel, 'supportsVision'>,
  ): Promise<ContentPart[]> {
    const { success, data } = shape.safeParse(message?.metadata);
    if (!success) return [];
    const isBlind = supportsVision === false;
    const parts: ContentPart[] = [];
    for (const { artifactId, mediaType: mimeType, detail } of data.images) {
      const bytes = isBlind
        ? undefined
        : (await this.artifacts.find(run, artifactId))?.bytes?.toString('base64');
      if (bytes === undefined) parts.push({ type: 'text', text: missingText(isBlind) });
      else parts.push({ type: 'image', mimeType, data: bytes, ...detailOf(detail) });
    }
    return parts;
  }
}

/** Services know low and high, and decide themselves where nothing is said. */
function detailOf(wanted = 'auto'): { readonly detail?: 'low' | 'high' } {
  if (wanted === 'auto') return {};
  return { detail: wanted === 'low' ? 'low' : 'high' };
}

function missingText(isBlind: boolean): string {
  return isBlind
    ? '[A picture is missing here: this model cannot see pictures.]'
    : '[A picture is missing here: its content was lost.]';
}
