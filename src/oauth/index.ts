export { oauthFailures } from './oauth.errors.js';
export { OAuthModule } from './oauth.module.js';
export { OAuthFailureView } from './oauth.view.js';
