import { Alert, Button, Checkbox, Group, Paper, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import type { ConsentDto, ConsentView } from '@plinth/client';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { allowedBy } from '../administration/permissions';
import { useMe } from '../app/me';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useAction } from '../ui/action';
import { Page } from '../ui/page';
import { Failure, RowsSkeleton } from '../ui/states';
import { KEY_LISTS } from './keys';

const FIELDS = [
  ...['response_type', 'client_id', 'redirect_uri', 'scope', 'state'],
  ...['code_challenge', 'code_challenge_method', 'resource'],
] as const;

type AuthorizationRequest = Omit<ConsentDto, 'approve' | 'permissions'>;

/** The request of the application, as its address brings it. */
function requestOf(params: SearchParams): AuthorizationRequest {
  const fields = FIELDS.flatMap((name) => (params[name] ? [[name, params[name]]] : []));
  return Object.fromEntries(fields) as AuthorizationRequest;
}

/** The page that an application opens to ask the user for access (OAuth). */
export default function AuthorizePage() {
  const { t } = useTranslation('apikey');
  const { user } = useMe();
  const [params] = useSearchParams();
  const request = requestOf(params);
  const consent = useQuery({
    queryKey: ['consent', request],
    queryFn: ({ signal }) => plinth.consentAsked({ query: request, signal }),
    staleTime: Infinity,
    retry: false,
  });
  const title = t('connect.title');
  return (
    <Page title={title} width="reading">
      {consent.isPending && <RowsSkeleton rows={4} />}
      {consent.error && <Failure error={consent.error} />}
      {consent.data && user && (
        <ConsentForm request={request} consent={consent.data} userName={user.userName} />
      )}
    </Page>
  );
}

interface FormProps {
  readonly request: AuthorizationRequest;
  readonly consent: ConsentView;
  readonly userName: string;
}

function ConsentForm({ request, consent, userName }: FormProps) {
  const { t } = useTranslation('apikey');
  const { t: texts } = useTranslation('administration');
  const { may } = useMe();
  const { name, host, isLocal, permissions, problem } = consent;
  const [chosen, setChosen] = useState(permissions.map(({ permission }) => permission));
  const mayConnect = may('system:apikey:add');
  const decide = useAction(
    (approve: boolean) =>
      plinth.consentDecide({
        body: { ...request, approve, ...(approve && { permissions: chosen }) },
      }),
    // The page stays busy until the browser has left it.
    { changes: KEY_LISTS, after: ({ address }) => location.assign(address) },
  );
  const isBusy = decide.isPending || decide.isSuccess;
  return (
    <Paper withBorder p="lg" component="section" aria-label={name}>
      <Stack>
        <Text size="lg" fw={600}>
          {t('connect.asks', { name })}
        </Text>
        <Text>{t(isLocal ? 'connect.local' : 'connect.remote', { host, userName })}</Text>
        {problem === null && (
          <Checkbox.Group
            label={t('connect.permissions')}
            description={t('connect.permissionsHelp')}
            value={chosen}
            onChange={setChosen}
          >
            <Stack gap="xs" my="sm">
              {permissions.map((info) => (
                <Checkbox
                  key={info.permission}
                  value={info.permission}
                  label={allowedBy(texts, info)}
                  disabled={isBusy}
                />
              ))}
            </Stack>
          </Checkbox.Group>
        )}
        {problem !== null && <Alert color="red">{problem}</Alert>}
        {problem === null && !mayConnect && <Alert color="gray">{t('connect.mayNot')}</Alert>}
        {problem === null && (
          <Text size="sm" c="dimmed">
            {t('connect.unknown')}
          </Text>
        )}
        <Group justify="flex-end">
          <Button
            variant="default"
            loading={isBusy && !decide.variables}
            disabled={isBusy || !mayConnect}
            onClick={() => decide.mutate(false)}
          >
            {t(problem === null ? 'connect.deny' : 'connect.back')}
          </Button>
          {problem === null && (
            <Button
              loading={isBusy && decide.variables}
              disabled={isBusy || !mayConnect || chosen.length === 0}
              onClick={() => decide.mutate(true)}
            >
              {t('connect.approve')}
            </Button>
          )}
        </Group>
      </Stack>
    </Paper>
  );
}
