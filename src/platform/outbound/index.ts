export type { OutboundRequest, OutboundResponse, OutboundTimeouts } from './outbound-call.js';
export { ForbiddenAddressError, OutboundError, outboundErrorOf } from './outbound.errors.js';
export type { OutboundErrorKind } from './outbound.errors.js';
export { OutboundHttp } from './outbound-http.js';
export type { OutboundHttpOptions } from './outbound-http.js';
export { OutboundModule } from './outbound.module.js';
