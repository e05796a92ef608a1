import { Stack } from '@mantine/core';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useMe } from '../app/me';
import { Page } from '../ui/page';
import { RowsSkeleton } from '../ui/skeleton';
import { Health } from './health';
import { SetUp } from './set-up';
import { Shortcuts } from './shortcuts';

const Use = lazy(() => import('./use'));

/** What is set up and what is missing; then how much is used, and whether the parts are well. */
export default function HomePage() {
  const { t } = useTranslation('home');
  const { user, may } = useMe();
  const name = user?.nickName || user?.userName || '';
  return (
    <Page title={t('title', { name })}>
      <Stack gap="xl">
        <SetUp />
        <Shortcuts />
        {may('monitor:use:query') && (
          <Suspense fallback={<RowsSkeleton rows={2} height={96} />}>
            <Use />
          </Suspense>
        )}
        {may('monitor:use:query') && <Health />}
      </Stack>
    </Page>
  );
}
