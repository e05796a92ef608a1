import { expect, test } from '@jest/globals';
import { AdapterRegistry } from './adapter.registry.js';

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
