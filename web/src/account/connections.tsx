import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { ssoAuthConnect, ssoAuthConnections } from '@plinth/client';
import type { SsoConnectionView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAddress } from '../app/address';
import { Refusal } from '../sign-in/sso';
import { useAction } from '../ui/action';

/** The providers of the tenant. */
export function useConnections(): readonly SsoConnectionView[] {
  const { data = [] } = useQuery({
    queryKey: ['sso', 'connections'],
    queryFn: ({ signal }) => ssoAuthConnections({ signal }),
  });
  return data;
}

/** Which providers sign the user in. Connecting with another one leads there and back, as a sign-in does. */
export function Connections({
  connections,
}: {
  readonly connections: ReturnType<typeof useConnections>;
}) {
  const { t } = useTranslation('account');
  const [{ ssoError }] = useAddress();
  const connect = useAction(async ({ id }: SsoConnectionView) => {
    const body = { returnTo: '/account' };
    const { address } = await ssoAuthConnect({ path: { provider: id }, body });
    location.assign(address);
  }, {});
  return (
    <Stack gap="sm">
      {ssoError && <Refusal reason={ssoError} />}
      <Text c="dimmed">{t('connections.about')}</Text>
      {connections.map((one) => (
        <Group key={one.id} justify="space-between">
          <Text>{one.name}</Text>
          {one.connected ? (
            <Badge variant="light" tt="none">
              {t('connections.connected')}
            </Badge>
          ) : (
            <Button
              variant="default"
              size="xs"
              loading={connect.isPending}
              onClick={() => connect.mutate(one)}
            >
              {t('connections.connect', { name: one.name })}
            </Button>
          )}
        </Group>
      ))}
    </Stack>
  );
}
