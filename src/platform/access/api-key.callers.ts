import type { Caller } from './caller.js';
import type { ApiSurface } from './api-surface.js';

/** Where a request comes from, which an API key can be limited by. */
export interface RequestOrigin {
  readonly apiSurface: ApiSurface;
  readonly address: string | undefined;
}

/** Finds the caller of an API key. Declared here, implemented by apikey/. */
export abstract class ApiKeyCallers {
  /**
   * The owner of the key with the rights that both have now. UnauthenticatedError says why the key is not valid,
   * ForbiddenError that it may not be used from this origin. Counts as a use of the key.
   */
  abstract resolve(key: string, origin: RequestOrigin): Promise<Caller>;

  /**
   * The caller as of now, or undefined when the key is no longer valid or its limits have changed. Does not count as a use.
   */
  abstract refresh(caller: Caller): Promise<Caller | undefined>;

  /**
   * The owner of a key with the rights that both have now, for work that was begun with the key; undefined when it is no longer
   * valid. Does not count as a use.
   */
  abstract current(
    tenantId: string,
    id: number,
    origin: Caller['origin'],
  ): Promise<Caller | undefined>;
}
