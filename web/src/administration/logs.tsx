import { Code } from '@mantine/core';
import { IconHistory, IconLogin2 } from '@tabler/icons-react';
import type {
  OperationLogQuery,
  OperationLogView,
  SignInLogQuery,
  SignInLogView,
} from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { softwareOf } from '../account/software';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { choicesOf, daysOf } from '../ui/filters';
import { ACTIONS, TARGETS } from './audit-words';
import { Verdict } from './verdict';
import styles from './logs.module.css';

const TYPES = ['1', '2', '3', '4', '7', '0'] as const;

function operationsOf({ who, kind, type, ip, ...days }: SearchParams): OperationLogQuery {
  return { operName: who, title: kind, businessType: type, operIp: ip, ...daysOf(days) };
}

/** Table of operations, excluding sign-ins. */
export function OperationLog() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  return (
    <DataTable
      name="operation-log"
      label={t('audit.tabs.operations')}
      filters={[
        { name: 'who', label: t('audit.who') },
        {
          name: 'kind',
          label: t('audit.anyKind'),
          choices: choicesOf(TARGETS, (target) => t(`audit.target.${target}`)),
        },
        {
          name: 'type',
          label: t('audit.anyType'),
          choices: choicesOf(TYPES, (type) => t(`audit.type.${type}`)),
        },
        { name: 'ip', label: t('audit.address') },
        { name: 'from', label: t('audit.from'), isDay: true },
        { name: 'to', label: t('audit.to'), isDay: true },
      ]}
      query={operationsOf}
      load={(query, signal) => plinth.consoleLogOperations({ query, signal })}
      download={
        may('monitor:operlog:export') && ((body) => plinth.consoleLogExportOperations({ body }))
      }
      rowKey={({ operId }: OperationLogView) => operId}
      columns={[
        { id: 'operTime', title: t('audit.time'), sort: true, show: 'time' },
        { id: 'operName', title: t('audit.user'), sort: true },
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
          sort: true,
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
        { id: 'operIp', title: t('signIns.address'), sort: true },
      ]}
      empty={<Empty icon={IconHistory} title={t('audit.empty')} />}
    />
  );
}

function signInsOf({ who, ip, result, ...days }: SearchParams): SignInLogQuery {
  const status = result === '0' || result === '1' ? result : undefined;
  return { userName: who, ipaddr: ip, ...(status && { status }), ...daysOf(days) };
}

/** Table of successful and failed sign-ins. */
export function SignInLog() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  return (
    <DataTable
      name="sign-in-log"
      label={t('audit.tabs.signIns')}
      filters={[
        { name: 'who', label: t('audit.who') },
        { name: 'ip', label: t('audit.address') },
        {
          name: 'result',
          label: t('audit.anyResult'),
          choices: choicesOf(['0', '1'], (result) => t(`audit.results.${result}`)),
        },
        { name: 'from', label: t('audit.from'), isDay: true },
        { name: 'to', label: t('audit.to'), isDay: true },
      ]}
      query={signInsOf}
      load={(query, signal) => plinth.consoleLogSignIns({ query, signal })}
      download={
        may('monitor:logininfor:export') && ((body) => plinth.consoleLogExportSignIns({ body }))
      }
      rowKey={({ infoId }: SignInLogView) => infoId}
      columns={[
        { id: 'loginTime', title: t('audit.time'), sort: true, show: 'time' },
        { id: 'userName', title: t('audit.user'), sort: true },
        {
          id: 'status',
          title: t('audit.result'),
          sort: true,
          cell: ({ status }) => (
            <Verdict good={status === '0'}>{t(`audit.results.${status}`)}</Verdict>
          ),
        },
        { id: 'msg', title: t('audit.message') },
        { id: 'client', title: t('signIns.client'), cell: ({ clientKey }) => clientKey || '–' },
        { id: 'software', title: t('signIns.software'), cell: (row) => softwareOf(row) || '–' },
        { id: 'ipaddr', title: t('signIns.address'), sort: true },
      ]}
      empty={<Empty icon={IconLogin2} title={t('audit.empty')} />}
    />
  );
}
