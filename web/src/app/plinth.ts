import { createPlinth } from '@plinth/client';
import type { UserInfoView } from '@plinth/client';
import { language } from '../i18n';
import { CLIENT_ID } from './client-id';
import { queryClient } from './query-client';
import { session } from './session';

/** The API client, authenticated as the signed-in user. */
export const plinth = createPlinth({
  token: () => session.current?.token,
  clientId: () => session.current?.clientId ?? CLIENT_ID,
  language,
  onUnauthenticated: () => {
    // A loaded page stays open together with its forms. Before anything is loaded there is nothing to preserve. A new sign-in
    // starts in the user's own tenant, where records of another tenant must not remain.
    const me = queryClient.getQueryData<UserInfoView>(['me']);
    if (me && me.tenantId === me.user.tenantId) session.lapse();
    else session.end();
  },
});
