import { expect, it } from '@jest/globals';
import { apiSurfaceOf } from './access.js';

it.each([
  ['/v1', 'v1'],
  ['/v1/models', 'v1'],
  ['/V1/chat/completions', 'v1'],
  ['/v1beta/models', 'v1'],
  ['/v10/models', 'rest'],
  ['/system/v1/list', 'rest'],
  ['/scim/v2/Users', 'scim'],
  ['/Scim', 'scim'],
  ['/scimitar', 'rest'],
  ['/mcp', 'mcp'],
  ['/mcp/tool/all', 'rest'],
  ['/', 'rest'],
])('%s is an address of the interface %s', (path, apiSurface) => {
  expect(apiSurfaceOf({ path })).toBe(apiSurface);
});
