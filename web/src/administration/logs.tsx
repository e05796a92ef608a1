import { Code } from '@mantine/core';
import { IconHistory, IconLogin2 } from '@tabler/icons-react';
import type { OperationLogView, SignInLogQuery, SignInLogView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { softwareOf } from '../account/software';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { AddressDay, daysOf } from '../ui/address-day';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { DataTable } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty } from '../ui/empty';
import { Time } from '../ui/time';
import { ACTIONS, TARGETS } from './audit-words';
import { orderOf } from './order';
import { Verdict } from './verdict';
import styles from './logs.module.css';

const TYPES = ['1', '2', '3', '4', '7', '0'] as const;

function operationsOf({ who, kind, type, ip }: SearchParams) {
  return { operName: who, title: kind, businessType: type, operIp: ip };
}

/** Table of operations, excluding sign-ins. */
export function OperationLog() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  return (
    <DataTable
      name="operation-log"
      label={t('audit.tabs.operations')}
      filters={['who', 'kind', 'type', 'ip', 'from', 'to']}
      columns={[
        {
          id: 'operTime',
          title: t('audit.time'),
          sort: 'operTime',
          cell: ({ operTime }: OperationLogView) => <Time value={operTime} />,
        },
        {
          id: 'operName',
          title: t('audit.user'),
          sort: 'operName',
          cell: ({ operName }) => operName || '–',
        },
        {
          id: 'action',
          title: t('audit.actionTitle'),
          cell: ({ action }) => {
            const knownAction = ACTIONS.find((one) => one === action);
            return knownAction ? t(`audit.action.${knownAction}`) : action;
          },
        },
        {
          id: 'title',
          title: t('audit.kind'),
          sort: 'title',
          cell: ({ title }) => {
            const knownTarget = TARGETS.find((one) => one === title);
            return knownTarget ? t(`audit.target.${knownTarget}`) : title;
          },
        },
        {
          id: 'operParam',
          title: t('audit.details'),
          cell: ({ operParam }) => <Code className={styles['detail']}>{operParam}</Code>,
        },
        {
          id: 'operIp',
          title: t('signIns.address'),
          sort: 'operIp',
          cell: ({ operIp }) => operIp || '–',
        },
      ]}
      load={(query, filters, signal) =>
        plinth.consoleLogOperations({
          query: { ...query, ...operationsOf(filters), ...daysOf(filters) },
          signal,
        })
      }
      rowKey={({ operId }) => operId}
      toolbar={
        <>
          <AddressSearch name="who" label={t('audit.who')} />
          <AddressSelect
            name="kind"
            label={t('audit.anyKind')}
            data={TARGETS.map((value) => ({ value, label: t(`audit.target.${value}`) }))}
          />
          <AddressSelect
            name="type"
            label={t('audit.anyType')}
            data={TYPES.map((value) => ({ value, label: t(`audit.type.${value}`) }))}
          />
          <AddressSearch name="ip" label={t('audit.address')} />
          <AddressDay name="from" label={t('audit.from')} />
          <AddressDay name="to" label={t('audit.to')} />
        </>
      }
      empty={<Empty icon={IconHistory} title={t('audit.empty')} />}
      {...(may('monitor:operlog:export') && {
        onExport: async (filters: SearchParams) =>
          saveFile(
            await plinth.consoleLogExportOperations({
              body: { ...orderOf(filters), ...operationsOf(filters), ...daysOf(filters) },
            }),
          ),
      })}
    />
  );
}

function signInsOf({ who, ip, result }: SearchParams): SignInLogQuery {
  const status = result === '0' || result === '1' ? result : undefined;
  return { userName: who, ipaddr: ip, ...(status && { status }) };
}

/** Table of successful and failed sign-ins. */
export function SignInLog() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  return (
    <DataTable
      name="sign-in-log"
      label={t('audit.tabs.signIns')}
      filters={['who', 'ip', 'result', 'from', 'to']}
      columns={[
        {
          id: 'loginTime',
          title: t('audit.time'),
          sort: 'loginTime',
          cell: ({ loginTime }: SignInLogView) => <Time value={loginTime} />,
        },
        {
          id: 'userName',
          title: t('audit.user'),
          sort: 'userName',
          cell: ({ userName }) => userName || '–',
        },
        {
          id: 'status',
          title: t('audit.result'),
          sort: 'status',
          cell: ({ status }) => (
            <Verdict good={status === '0'}>{t(`audit.results.${status}`)}</Verdict>
          ),
        },
        { id: 'msg', title: t('audit.message'), cell: ({ msg }) => msg || '–' },
        { id: 'client', title: t('signIns.client'), cell: ({ clientKey }) => clientKey || '–' },
        {
          id: 'software',
          title: t('signIns.software'),
          cell: (row) => softwareOf(row) || '–',
        },
        {
          id: 'ipaddr',
          title: t('signIns.address'),
          sort: 'ipaddr',
          cell: ({ ipaddr }) => ipaddr || '–',
        },
      ]}
      load={(query, filters, signal) =>
        plinth.consoleLogSignIns({
          query: { ...query, ...signInsOf(filters), ...daysOf(filters) },
          signal,
        })
      }
      rowKey={({ infoId }) => infoId}
      toolbar={
        <>
          <AddressSearch name="who" label={t('audit.who')} />
          <AddressSearch name="ip" label={t('audit.address')} />
          <AddressSelect
            name="result"
            label={t('audit.anyResult')}
            data={(['0', '1'] as const).map((value) => ({
              value,
              label: t(`audit.results.${value}`),
            }))}
          />
          <AddressDay name="from" label={t('audit.from')} />
          <AddressDay name="to" label={t('audit.to')} />
        </>
      }
      empty={<Empty icon={IconLogin2} title={t('audit.empty')} />}
      {...(may('monitor:logininfor:export') && {
        onExport: async (filters: SearchParams) =>
          saveFile(
            await plinth.consoleLogExportSignIns({
              body: { ...orderOf(filters), ...signInsOf(filters), ...daysOf(filters) },
            }),
          ),
      })}
    />
  );
}
