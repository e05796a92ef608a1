import { ApiProperty } from '@nestjs/swagger';
import type { MediaResult } from '../provider/index.js';

const unused = { type: String, nullable: true } as const;

/** What a media model has made or is making. Every field is there; null where it is unused. */
export class MediaResultView {
  @ApiProperty({ enum: ['image', 'audio', 'video'] })
  type: string;

  @ApiProperty({ ...unused, example: 'image/png' })
  mimeType: string | null;

  @ApiProperty({ ...unused, description: 'The result at the provider, as long as that keeps it' })
  url: string | null;

  @ApiProperty(unused)
  b64Json: string | null;

  @ApiProperty({ ...unused, description: 'The result itself, for the src of an element' })
  dataUrl: string | null;

  @ApiProperty({ ...unused, description: 'Of the task: looked up later, with the model’s name' })
  id: string | null;

  @ApiProperty({ ...unused, description: 'The provider’s own word', example: 'completed' })
  status: string | null;

  @ApiProperty({ ...unused, description: 'The provider’s answer, for diagnosis' })
  rawResponse: string | null;

  @ApiProperty({ ...unused, description: 'The last picture of a video' })
  lastFrameUrl: string | null;
}

export function toMediaResultView(result: MediaResult): MediaResultView {
  const { type, mimeType, url, b64Json, dataUrl, id, status, rawResponse, lastFrameUrl } = result;
  return { type, mimeType, url, b64Json, dataUrl, id, status, rawResponse, lastFrameUrl };
}
