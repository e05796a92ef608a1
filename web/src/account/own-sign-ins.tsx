import { Badge, Button, Group, Stack, Text } from '@mantine/core';
import { IconDeviceDesktop, IconDeviceMobile } from '@tabler/icons-react';
import type { SignInView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { session } from '../app/session';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { Failure, RowsSkeleton } from '../ui/states';
import { Time } from '../ui/time';
import { softwareOf } from './software';
import styles from './account.module.css';

/** Lists the user's active sign-ins; each can be ended. */
export function OwnSignIns() {
  const { t } = useTranslation('account');
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['sign-ins', 'own'],
    queryFn: ({ signal }) => plinth.signInOwn({ signal }),
  });
  const end = useAction(
    async ({ tokenId, current }: SignInView) => {
      if (current) await session.prepareSignOut();
      await plinth.signInEndOwn({ path: { tokenId } });
      return current;
    },
    {
      done: t('signIns.ended'),
      changes: [['sign-ins']],
      after: (current) => {
        if (current) session.end();
      },
    },
  );
  const ask = (signIn: SignInView): void =>
    confirmDestruction({
      title: t(signIn.current ? 'signIns.endThisTitle' : 'signIns.endTitle'),
      body: t(signIn.current ? 'signIns.endThisBody' : 'signIns.endBody'),
      action: t('signIns.end'),
      run: () => end.mutateAsync(signIn),
    });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (isPending) return <RowsSkeleton rows={2} height={56} />;
  return (
    <ul className={styles['signIns']} aria-label={t('signIns.title')}>
      {data.rows.map((signIn) => {
        const Icon = /android|ios|xcx/.test(signIn.deviceType ?? '')
          ? IconDeviceMobile
          : IconDeviceDesktop;
        return (
          <li key={signIn.tokenId} className={styles['signIn']}>
            <Icon size={20} stroke={1.5} className={styles['device']} />
            <Stack gap={0} className={styles['facts']}>
              <Group gap="xs">
                <Text fw={600}>{softwareOf(signIn) || signIn.clientKey}</Text>
                {signIn.current && (
                  <Badge size="sm" variant="light">
                    {t('signIns.thisOne')}
                  </Badge>
                )}
              </Group>
              <Text size="sm" c="dimmed">
                {signIn.ipaddr ?? '–'} · {signIn.clientKey} · {t('signIns.lastActive')}{' '}
                <Time value={signIn.lastActiveTime} />
              </Text>
            </Stack>
            <Button variant="default" size="xs" onClick={() => ask(signIn)}>
              {t('signIns.end')}
            </Button>
          </li>
        );
      })}
    </ul>
  );
}
