import { createPlinth } from '@plinth/client';
import type { UserInfoView } from '@plinth/client';
import { language } from '../i18n';
import { CLIENT_ID } from './client-id';
import { queryClient } from './query-client';
import { session } from './session';

/** The service, called as the person who is signed in. */
export const plinth = createPlinth({
  token: () => session.current?.token,
  clientId: () => session.current?.clientId ?? CLIENT_ID,
  language,
  onUnauthenticated: () => {
    // A page that shows something stays, with the forms in it; where nothing is loaded yet there is nothing to keep. A new sign-in
    // begins in the user's own tenant, where records of another one must not stay.
    const me = queryClient.getQueryData<UserInfoView>(['me']);
    if (me && me.tenantId === me.user.tenantId) session.lapse();
    else session.end();
  },
});
