import { vendors } from '../vendors.js';

/** Codes of the media endpoints beside chat-completions. A service of one's own is taken for one of this protocol. */
export const mediaSyncPresets = [
  { code: 'media_sync', label: 'Media at once' },
  { code: vendors.openai.code, label: vendors.openai.label },
  { code: vendors.custom.code, label: 'Custom (media)' },
] as const;

export const mediaAsyncPresets = [
  { code: 'media_async', label: 'Media as predictions' },
  { code: 'atlas', label: 'Atlas Cloud' },
] as const;

/** Called at IMAGE_SDK_URL, whatever apiHost a model has. */
export const imageSdkPresets = [
  { code: 'image_sdk', label: 'Text-to-image of DashScope', defaultAddress: '' },
  { code: 'Tongyiwanx', label: 'Tongyi Wanxiang', defaultAddress: '' },
] as const;
