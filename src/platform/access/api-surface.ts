/** The interfaces of the service, each for clients of its own. An API key can be limited to some. */
export const API_SURFACES = ['rest', 'v1', 'scim'] as const;
export type ApiSurface = (typeof API_SURFACES)[number];

/** How work came to the service: through an interface, as a line of a batch, or as a job of its own. */
export const ORIGINS = [...API_SURFACES, 'batch', 'job'] as const;
export type Origin = (typeof ORIGINS)[number];

/** By its path: `v1` is what clients of other vendors call, `scim` what directories call, `rest` everything else. */
export function apiSurfaceOf({ path }: { readonly path: string }): ApiSurface {
  if (/^\/v1(beta)?(\/|$)/i.test(path)) return 'v1';
  return /^\/scim(\/|$)/i.test(path) ? 'scim' : 'rest';
}
