import { expect, test } from '@jest/globals';
import { loadConfig } from '../platform/config/index.js';
import { OutboundHttp } from '../platform/outbound/index.js';
import { ImageSdkAdapter } from './adapter/media/image-sdk.protocol.js';
import { MediaAsyncAdapter } from './adapter/media/media-async.protocol.js';
import { MediaSyncAdapter } from './adapter/media/media-sync.protocol.js';
import { AdapterRegistry, MediaAdapterRegistry } from './adapter.registries.js';

const config = loadConfig({ SECRET_KEY: 'a key for tests of 32 characters' });
const registry = new MediaAdapterRegistry(new OutboundHttp({ allowedPrivateHosts: [] }), config);

test.each([
  ['media_sync', MediaSyncAdapter],
  ['openai', MediaSyncAdapter],
  ['custom_api', MediaSyncAdapter],
  ['media_async', MediaAsyncAdapter],
  ['atlas', MediaAsyncAdapter],
  ['image_sdk', ImageSdkAdapter],
  ['Tongyiwanx', ImageSdkAdapter],
])('%s is served by its adapter', (code, adapter) => {
  expect(registry.get(code)).toBeInstanceOf(adapter);
  expect(registry.get(code).code).toBe(code);
});

test.each(['tongyiwanx', 'Media_Sync', 'deepseek', ''])('%j has none', (code) => {
  expect(() => registry.get(code)).toThrow(
    `Unsupported model category: ${code}. Choose a provider with one of these codes: media_sync, openai, custom_api, media_async, atlas, image_sdk, Tongyiwanx.`,
  );
});

test('custom_messages has none, and the error says what to use', () => {
  expect(registry.has('custom_messages')).toBe(false);
  expect(() => registry.get('custom_messages')).toThrow(
    /^Unsupported model category: custom_messages\. The messages protocol has no media; .*custom_api.* codes: media_sync/,
  );
});

test('an adapter has the calls that its service has', () => {
  const calls = ['image', 'speech', 'video', 'lookUpVideo', 'lookUpPrediction'] as const;
  const callsOf = (code: string): string[] => calls.filter((call) => registry.get(code)[call]);
  expect(callsOf('media_sync')).toEqual(['image', 'speech', 'video', 'lookUpVideo']);
  expect(callsOf('media_async')).toEqual([...calls]);
  expect(callsOf('image_sdk')).toEqual(['image']);
});

test('an adapter is found by its code', () => {
  const registry = new AdapterRegistry([{ code: 'a' }, { code: 'b' }]);
  expect(registry.get('b')).toEqual({ code: 'b' });
  expect(registry.codes()).toEqual(['a', 'b']);
  expect([registry.has('a'), registry.has('constructor')]).toEqual([true, false]);
});

test('an unknown code is an error that names the known ones', () => {
  const registry = new AdapterRegistry([{ code: 'a' }, { code: 'b' }]);
  expect(() => registry.get('dify')).toThrow('Unsupported model category: dify.');
  expect(() => registry.get('dify')).toThrow('a, b');
});

test('two adapters of one code do not start', () => {
  expect(() => new AdapterRegistry([{ code: 'a' }, { code: 'a' }])).toThrow('code a');
});
