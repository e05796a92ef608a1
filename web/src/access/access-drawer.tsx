import { Drawer, Group, Select, Switch, Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconUsersGroup } from '@tabler/icons-react';
import type { AccessView, SubjectView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';
import { MemberPicker } from '../ui/member-picker';
import { MenuItem } from '../ui/menu-item';
import { Failure, RowsSkeleton } from '../ui/states';
import type { Level } from './levels';

type ResourceType = AccessView['type'];

interface GrantedRecord {
  readonly id: number;
  readonly name: string;
}

interface AccessDrawerOf {
  /** The menu item that opens the drawer of a record; false for those who may not grant. */
  readonly item: (record: GrantedRecord) => ReactNode;
  /** The open drawer. It stands outside of the menu, which closes. */
  readonly drawer: ReactNode;
}

/** Who may reach the records of a list: a menu item for each, and the drawer that it opens. */
export function useAccessDrawer(type: ResourceType): AccessDrawerOf {
  const { t } = useTranslation('access');
  const { may } = useMe();
  const [record, setRecord] = useState<GrantedRecord>();
  return {
    item: (chosen) =>
      may('access:grant') && (
        <MenuItem icon={IconUsersGroup} onClick={() => setRecord(chosen)}>
          {t('open')}
        </MenuItem>
      ),
    drawer: record && (
      <AccessDrawer type={type} record={record} onClose={() => setRecord(undefined)} />
    ),
  };
}

interface Props {
  readonly type: ResourceType;
  readonly record: GrantedRecord;
  readonly onClose: () => void;
}

export function AccessDrawer({ type, record: { id, name }, onClose }: Props) {
  const { t } = useTranslation('access');
  const { data, error, refetch } = useQuery({
    queryKey: ['access', type, id],
    queryFn: ({ signal }) => plinth.accessGet({ path: { resourceType: type, id }, signal }),
    // The form begins with the grants of now.
    gcTime: 0,
    refetchOnWindowFocus: false,
  });
  if (data) return <GrantsForm access={data} onClose={onClose} />;
  return (
    <Drawer opened onClose={onClose} title={t('title', { name })}>
      {error ? <Failure error={error} onRetry={() => void refetch()} /> : <RowsSkeleton />}
    </Drawer>
  );
}

interface Row {
  readonly subject: string;
  readonly label: string;
  readonly level: Level;
}

interface FormProps {
  readonly access: AccessView;
  readonly onClose: () => void;
}

function GrantsForm({ access: { type, id, name, levels, grants }, onClose }: FormProps) {
  const { t } = useTranslation('access');
  const labelOf = useSubjectLabel();
  const form = useForm({
    initialValues: {
      restricted: grants !== null,
      grants: (grants ?? []).map((grant): Row => ({
        subject: grant.subject,
        level: grant.level,
        label: labelOf(grant),
      })),
    },
  });
  const { restricted, grants: rows } = form.values;
  const [first = 'use', second = first] = levels;
  const lacksManager = levels.includes('manage') && !rows.some(({ level }) => level === 'manage');
  const choose = (chosen: ReadonlyMap<string, string>): void =>
    form.setFieldValue(
      'grants',
      [...chosen].map(
        ([subject, label]) =>
          rows.find((row) => row.subject === subject) ?? {
            subject,
            label,
            level: lacksManager ? 'manage' : second,
          },
      ),
    );
  const setLevel = (subject: string, level: Level): void =>
    form.setFieldValue(
      'grants',
      rows.map((row) => (row.subject === subject ? { ...row, level } : row)),
    );
  return (
    <FormDrawer
      title={t('title', { name })}
      record={`${type} ${id}`}
      form={form}
      action={t('save')}
      onSubmit={(values) =>
        plinth.accessReplace({
          path: { resourceType: type, id },
          body: {
            grants: values.restricted
              ? values.grants.map(({ subject, level }) => ({ subject, level }))
              : null,
          },
        })
      }
      done={t('saved')}
      changes={[
        ['knowledge'],
        ['agents'],
        ['models'],
        ['documents'],
        ['toolServers'],
        ['accessRecords'],
      ]}
      onClose={onClose}
    >
      {type === 'document' && (
        <Switch
          label={t('restricted')}
          description={t('restrictedHelp')}
          {...form.getInputProps('restricted', { type: 'checkbox' })}
        />
      )}
      {restricted && (
        <MemberPicker
          label={t('subjects')}
          description={t(`about.${type}`)}
          nothingFound={t('noSubject')}
          queryKey={['access', 'subjects']}
          load={async (text, signal) =>
            (await plinth.accessSubjects({ query: text ? { name: text } : {}, signal })).map(
              (subject) => ({ value: subject.subject, label: labelOf(subject) }),
            )
          }
          chosen={new Map(rows.map(({ subject, label }) => [subject, label]))}
          onChange={choose}
          autoFocus
        />
      )}
      {restricted &&
        levels.length > 1 &&
        rows.map(({ subject, label, level }) => (
          <Group key={subject} wrap="nowrap" justify="space-between">
            <Text size="sm" lineClamp={2}>
              {label}
            </Text>
            <Select
              aria-label={t('levelOf', { name: label })}
              w={150}
              data={levels.map((one) => ({ value: one, label: t(`level.${one}`) }))}
              value={level}
              allowDeselect={false}
              onChange={(chosen) => setLevel(subject, chosen ?? level)}
            />
          </Group>
        ))}
      {restricted && levels.length > 1 && (
        <Text size="xs" c="dimmed">
          {t('levelsHelp')}
        </Text>
      )}
    </FormDrawer>
  );
}

/** The name of a subject with its kind, because a role and a group may have the same. */
function useSubjectLabel(): (subject: Pick<SubjectView, 'kind' | 'name' | 'subject'>) => string {
  const { t } = useTranslation('access');
  return ({ kind, name, subject }) =>
    kind === 'tenant' ? t('kind.tenant') : `${name ?? subject} (${t(`kind.${kind}`)})`;
}
