/** The interfaces of the service, each for clients of its own. An API key can be limited to some. */
export const DOORS = ['rest', 'v1'] as const;
export type Door = (typeof DOORS)[number];

/** By its path: `v1` is what clients of other vendors call, `rest` everything else. */
export function doorOf({ path }: { readonly path: string }): Door {
  return /^\/v1(\/|$)/i.test(path) ? 'v1' : 'rest';
}
