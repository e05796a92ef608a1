import { Tabs } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { Page } from '../ui/page';
import { AuditTimeline } from './audit-timeline';
import { OperationLog, SignInLog } from './logs';

const TABS = ['timeline', 'operations', 'signIns'] as const;
type Tab = (typeof TABS)[number];

const PERMISSION: Readonly<Record<Tab, string>> = {
  timeline: 'monitor:audit:list',
  operations: 'monitor:operlog:list',
  signIns: 'monitor:logininfor:list',
};

/** The audit log as a timeline, and as separate tables of operations and sign-ins. */
export default function AuditPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [address, change] = useSearchParams();
  const tabs = TABS.filter((tab) => may(PERMISSION[tab]));
  const tab = tabs.find((one) => one === address['tab']) ?? tabs[0] ?? 'timeline';
  const choose = (value: string | null): void => {
    // Filters apply to one tab only.
    const cleared = Object.fromEntries(Object.keys(address).map((key) => [key, undefined]));
    change({ ...cleared, tab: value === tabs[0] ? undefined : (value ?? undefined) });
  };
  return (
    <Page title={t('audit.title')} description={t('audit.about')}>
      <Tabs value={tab} onChange={choose} keepMounted={false}>
        {tabs.length > 1 && (
          <Tabs.List mb="lg">
            {tabs.map((one) => (
              <Tabs.Tab key={one} value={one}>
                {t(`audit.tabs.${one}`)}
              </Tabs.Tab>
            ))}
          </Tabs.List>
        )}
        <Tabs.Panel value="timeline">
          <AuditTimeline />
        </Tabs.Panel>
        <Tabs.Panel value="operations">
          <OperationLog />
        </Tabs.Panel>
        <Tabs.Panel value="signIns">
          <SignInLog />
        </Tabs.Panel>
      </Tabs>
    </Page>
  );
}
