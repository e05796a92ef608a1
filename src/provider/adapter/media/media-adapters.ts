import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { ImageSdkAdapter } from './image-sdk/image-sdk.adapter.js';
import type { ImageSdkOptions } from './image-sdk/image-sdk.adapter.js';
import { MediaAsyncAdapter } from './media-async/media-async.adapter.js';
import type { MediaAdapter } from './media.adapter.js';
import { MediaSyncAdapter } from './media-sync/media-sync.adapter.js';
import { imageSdkPresets, mediaAsyncPresets, mediaSyncPresets } from './presets.js';

/** Every media adapter there is. A new vendor is a line of presets.ts, or a folder and a line here. */
export function mediaAdapters(
  http: OutboundHttp,
  imageSdk: Pick<ImageSdkOptions, 'address' | 'pollMs'>,
): readonly MediaAdapter[] {
  return [
    ...mediaSyncPresets.map((preset) => new MediaSyncAdapter(http, preset)),
    ...mediaAsyncPresets.map((preset) => new MediaAsyncAdapter(http, preset)),
    ...imageSdkPresets.map((preset) => new ImageSdkAdapter(http, { ...preset, ...imageSdk })),
  ];
}
