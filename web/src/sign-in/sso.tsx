import { Alert, Button, Divider, Stack } from '@mantine/core';
import type { SsoChoicesView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { CLIENT_ID } from '../app/client-id';
import { claimsOf, session } from '../app/session';

/** Reasons from the service that have their own text. */
const REFUSALS = [
  'provider',
  'client',
  'tenant',
  'expired',
  'denied',
  'unavailable',
  'configuration',
  'invalid',
  'disabled',
  'unknown-user',
  'limit',
  'other-user',
  'other-account',
  'signed-out',
] as const;

const CODE = /^#sso=([\w-]+)$/;

interface Props {
  readonly providers: SsoChoicesView['providers'];
  /** Path to open after the sign-in. */
  readonly returnTo: string;
  /** Whether password sign-in is also available. */
  readonly divided: boolean;
}

/** Links to the providers. They leave the page. */
export function Providers({ providers, returnTo, divided }: Props) {
  const { t } = useTranslation('sign-in');
  if (providers.length === 0) return null;
  return (
    <Stack mt="md">
      {divided && <Divider label={t('or')} />}
      {providers.map(({ id, name }) => {
        const query = new URLSearchParams({ clientId: CLIENT_ID, returnTo });
        return (
          <Button
            key={id}
            component="a"
            href={`/auth/sso/${id}/start?${query.toString()}`}
            variant="default"
            fullWidth
          >
            {t('signInWith', { name })}
          </Button>
        );
      })}
    </Stack>
  );
}

/** Explains why a provider or the service refused the sign-in. */
export function Refusal({ reason }: { readonly reason: string }) {
  const { t } = useTranslation('sign-in');
  const knownReason = REFUSALS.find((one) => one === reason) ?? 'invalid';
  return (
    <Alert color="red" role="alert" mb="md">
      {t(`refusal.${knownReason}`)}
    </Alert>
  );
}

let exchanging: Promise<void> | undefined;

/** Takes the provider's code from the URL fragment and removes it from the URL. */
export function hasCode(): boolean {
  return exchanging !== undefined || CODE.test(location.hash);
}

/** Exchanges the code for a sign-in; callers share one exchange. */
export function exchangeCode(): Promise<void> {
  const code = CODE.exec(location.hash)?.[1];
  if (code === undefined) return exchanging ?? Promise.resolve();
  history.replaceState(history.state, '', location.pathname + location.search);
  exchanging = exchange(code).finally(() => {
    exchanging = undefined;
  });
  return exchanging;
}

async function exchange(code: string): Promise<void> {
  const body = { code, clientId: CLIENT_ID };
  const { access_token: token, client_id: clientId } = await plinth.ssoAuthExchange({ body });
  session.begin({ token, clientId, tenantId: claimsOf(token).tenantId });
}
