import type { FailureShape } from '../../platform/error/index.js';

const STATUS_OF_OUTAGE = 503;

/** Providers read the HTTP status and the errors of OAuth instead of the envelope. */
export const ssoFailures: FailureShape = {
  paths: /^\/auth\/sso\/[^/]+\/backchannel-logout\/?$/i,
  answer: ({ code, message }) => ({
    status: code === 500 || code === STATUS_OF_OUTAGE || code === 429 ? code : 400,
    body: { error: 'invalid_request', error_description: message },
  }),
};
