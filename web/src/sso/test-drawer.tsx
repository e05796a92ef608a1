import { Alert, Button, Drawer, Group, Loader, Stack } from '@mantine/core';
import type { SsoProviderView } from '@plinth/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Failure } from '../ui/states';
import { Steps } from '../ui/steps';

interface Props {
  readonly provider: Pick<SsoProviderView, 'id' | 'name'>;
  readonly onClose: () => void;
}

/** Drawer that tests the saved provider when opened and shows the steps. */
export function TestDrawer({ provider, onClose }: Props) {
  const { t } = useTranslation('sso');
  const { mutate, data, error, isPending } = useMutation({
    mutationFn: () => plinth.ssoTest({ path: { id: provider.id } }),
  });
  useEffect(() => mutate(), [mutate]);
  return (
    <Drawer opened onClose={onClose} title={t('test.title', { name: provider.name })}>
      <Stack aria-live="polite">
        {error && <Failure error={error} onRetry={() => mutate()} />}
        {!error && !data && <Loader size={20} role="img" aria-label={t('test.running')} />}
        {data && (
          <>
            <Steps
              labels={{ running: t('test.running'), good: t('test.good'), bad: t('test.bad') }}
              steps={data.steps.map(({ step, ok, ...found }) => ({
                ...found,
                name: step,
                title: t(`test.step.${step}`),
                state: ok ? 'good' : 'bad',
              }))}
            />
            <Alert color={data.ok ? 'green' : 'red'} role={data.ok ? 'status' : 'alert'}>
              {data.advice}
            </Alert>
          </>
        )}
        <Group>
          <Button variant="default" loading={isPending} onClick={() => mutate()}>
            {t('test.again')}
          </Button>
        </Group>
      </Stack>
    </Drawer>
  );
}
