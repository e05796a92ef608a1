import { Stack } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { Page } from '../ui/page';
import { Health } from './health';
import { SetUp } from './set-up';
import { Shortcuts } from './shortcuts';
import { Use } from './use';

/** The home page: set-up checklist, usage and health. */
export default function HomePage() {
  const { t } = useTranslation('home');
  const { user, may } = useMe();
  const name = user?.nickName || user?.userName || '';
  return (
    <Page title={t('title', { name })}>
      <Stack gap="xl">
        <SetUp />
        <Shortcuts />
        {may('monitor:use:query') && <Use />}
        {may('monitor:use:query') && <Health />}
      </Stack>
    </Page>
  );
}
