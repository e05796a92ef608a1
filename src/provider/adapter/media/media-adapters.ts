import type { OutboundHttp } from '../../../platform/outbound/index.js';
import { vendors } from '../vendors.js';
import { ImageSdkAdapter } from './image-sdk/image-sdk.adapter.js';
import type { ImageSdkOptions } from './image-sdk/image-sdk.adapter.js';
import { MediaAsyncAdapter } from './media-async/media-async.adapter.js';
import { MediaSyncAdapter } from './media-sync/media-sync.adapter.js';
import type { MediaAdapter } from './media.adapter.js';

/** Codes of the media endpoints beside chat-completions. A service of one's own is taken for one of this protocol. */
export const mediaSyncPresets = [
  { code: 'media_sync', label: 'Media at once' },
  { code: vendors.openai.code, label: vendors.openai.label },
  { code: vendors.custom.code, label: 'Custom (media)' },
] as const;

const mediaAsyncPresets = [
  { code: 'media_async', label: 'Media as predictions' },
  { code: 'atlas', label: 'Atlas Cloud' },
] as const;

/** Called at IMAGE_SDK_URL, whatever apiHost a model has. */
const imageSdkPresets = [
  { code: 'image_sdk', label: 'Text-to-image of DashScope', defaultAddress: '' },
  { code: 'Tongyiwanx', label: 'Tongyi Wanxiang', defaultAddress: '' },
] as const;

/** All media adapters. A new vendor is a line of the presets, or a folder and a line here. */
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
