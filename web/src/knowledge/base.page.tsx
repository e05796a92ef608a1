import { Alert, Badge, Group, Stack, Tabs } from '@mantine/core';
import { IconAlertTriangle, IconEye } from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import { Failure, NotFound, RowsSkeleton } from '../ui/states';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { baseQuery, useBaseAccess } from './base';
import { Documents } from './documents';
import { OtherStore } from './other-store';
import { Sources } from './sources';
import styles from './knowledge.module.css';

const RetrievalTest = lazy(() => import('./retrieval'));
const TestSets = lazy(() => import('./test-sets'));
const Settings = lazy(() => import('./settings'));

const TABS = ['documents', 'retrieval', 'tests', 'settings'] as const;
type Tab = (typeof TABS)[number];

/** The page of a knowledge base: documents, search test, test sets and settings. */
export default function BasePage() {
  const { t } = useTranslation('knowledge');
  const { t: ofApp } = useTranslation('app');
  const { knowledgeId = '' } = useParams({ strict: false });
  const id = Number(knowledgeId);
  const navigate = useNavigate();
  const [address] = useSearchParams();
  const tab: Tab = TABS.find((one) => one === address['tab']) ?? 'documents';
  const { data: base, error, refetch } = useQuery(baseQuery(id));
  const access = useBaseAccess(base);
  if (error instanceof ApiError && error.code === 404) return <NotFound />;
  if (error && !base) return <Failure error={error} onRetry={() => void refetch()} />;
  // Each tab has its own parameters, so those of the previous tab are removed.
  const open = (next: string | null): void => {
    void navigate({
      to: '/knowledge/$knowledgeId',
      params: { knowledgeId },
      search: next === 'documents' || next === null ? {} : { tab: next },
    });
  };
  return (
    <Page
      title={base?.name ?? ''}
      description={base?.description}
      above={[{ title: ofApp('pages.knowledge'), path: '/knowledge' }]}
      width={tab === 'retrieval' ? 'full' : 'table'}
      actions={
        base && (
          <Group gap={6}>
            {base.share === 1 && (
              <Badge variant="default" fw={400}>
                {t('base.shared')}
              </Badge>
            )}
            {access.readOnly && (
              <Badge
                variant="default"
                fw={400}
                leftSection={<IconEye size={12} stroke={1.5} />}
                title={access.readOnly}
              >
                {t('readOnly.badge')}
              </Badge>
            )}
          </Group>
        )
      }
    >
      {access.readOnly && (
        <Alert variant="default" mb="md" role="note" icon={<IconEye size={18} stroke={1.5} />}>
          {access.readOnly}
        </Alert>
      )}
      {base?.embeddingModel === '' && (
        <Alert
          color="yellow"
          mb="md"
          icon={<IconAlertTriangle size={18} stroke={1.5} />}
          title={t('base.noModel')}
        >
          {t('base.noModelHint')}
        </Alert>
      )}
      {base?.vectorsLostTime && (
        <Alert
          color="yellow"
          mb="md"
          icon={<IconAlertTriangle size={18} stroke={1.5} />}
          title={t('base.vectorsLost')}
        >
          {t('base.vectorsLostHint')} <Time value={base.vectorsLostTime} />
        </Alert>
      )}
      {base && base.vectorStore !== base.storeAfterReindex && (
        <OtherStore base={base} canMove={!access.readOnly} />
      )}
      <Tabs value={tab} onChange={open} keepMounted={false} className={styles['tabs']}>
        <Tabs.List mb="md" className={styles['tabList']}>
          {TABS.map((one) => (
            <Tabs.Tab key={one} value={one}>
              {t(`tab.${one}`)}
            </Tabs.Tab>
          ))}
        </Tabs.List>
        <Tabs.Panel value={tab}>
          {base ? (
            <Suspense fallback={<RowsSkeleton />}>
              {tab === 'documents' && (
                <Stack gap="xl">
                  <Sources base={base} />
                  <Documents base={base} />
                </Stack>
              )}
              {tab === 'retrieval' && <RetrievalTest base={base} />}
              {tab === 'tests' && <TestSets base={base} />}
              {tab === 'settings' && <Settings base={base} />}
            </Suspense>
          ) : (
            <RowsSkeleton />
          )}
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
