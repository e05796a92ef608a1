export { libraryFetch } from './library-fetch.js';
export { limitedBody, OutboundHttp } from './outbound-http.js';
export type {
  OutboundHttpOptions,
  OutboundRequest,
  OutboundResponse,
  OutboundTimeouts,
} from './outbound-http.js';
export { ForbiddenAddressError, OutboundError, outboundErrorOf } from './outbound.errors.js';
export type { OutboundErrorKind } from './outbound.errors.js';
export { OutboundModule } from './outbound.module.js';
