import { createPlinth } from '@plinth/client';
import { language } from '../i18n';
import { CLIENT_ID } from './client-id';
import { session } from './session';

/** The service, called as the person who is signed in. */
export const plinth = createPlinth({
  token: () => session.current?.token,
  clientId: () => session.current?.clientId ?? CLIENT_ID,
  language,
  onUnauthenticated: () => session.end(),
});
