import {
  Alert,
  Button,
  Checkbox,
  Fieldset,
  Group,
  SimpleGrid,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { IconTrash } from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { focusFirstInvalid, FormFailure, LeaveGuard, startFrom, useRecordForm } from '../ui/form';
import type { Revised } from '../ui/form';
import { baseKey, useBaseAccess } from './base';
import {
  changedOf,
  FIELDS,
  isEffective,
  needsParsing,
  requiresParsing,
  settingInfo,
  settingsOf,
  useShownSetting,
} from './base-settings';
import type { Field, Section as SectionName, Settings as Stored } from './base-settings';
import { SettingField } from './setting-field';
import type { SettingsForm } from './setting-field';
import styles from './knowledge.module.css';

type Values = Stored & Revised;

/** All settings of the base, with their effect and the cost of changing them. */
export default function Settings({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { can, readOnly } = useBaseAccess(base);
  const [failure, setFailure] = useState<unknown>();
  const [reparse, setReparse] = useState(true);
  const formatSetting = useShownSetting();
  const form = useForm<Values>({
    initialValues: valuesOf(base),
    validate: {
      name: (name) => (name.trim() === '' ? t('base.nameMissing') : null),
      textBlockSize: (size) => (size >= 1 ? null : t('help.sizeWrong')),
      overlapChar: (overlap, { textBlockSize }) =>
        overlap >= 0 && overlap < textBlockSize ? null : t('help.overlapWrong'),
    },
  });
  useRecordForm(form, valuesOf(base));
  const changed = changedOf(form.getInitialValues(), form.values);
  const again = base.documentCount > 0 ? changed.filter(needsParsing) : [];
  const required = again.some(requiresParsing);
  const save = useAction(
    () =>
      withMessage(plinth.knowledgeUpdate, {
        body: {
          id: base.id,
          revision: form.values.revision,
          ...Object.fromEntries(changed.map((field) => [field, toWire(form.values[field])])),
          ...(again.length > 0 && (reparse || required) && { reindex: true }),
        },
      }),
    {
      done: ({ message }) => message,
      changes: [baseKey(base.id), ['knowledge', 'list'], ['documents']],
      after: () => {
        form.setInitialValues(form.values);
        form.resetDirty(form.values);
      },
      onFailure: setFailure,
    },
  );
  const { values } = form;
  // Managers share a base; those who may not publish can only end that.
  const mayShare = base.level === 'manage' && (base.share === 1 || can('access:publish'));
  const about: Readonly<Partial<Record<SectionName, ReactNode>>> = {
    splitting: <TrySplit base={base} />,
    search: t('settings.searchAbout'),
    neighbours: t('help.neighbours'),
  };
  return (
    <>
      <form
        noValidate
        className={styles['form']}
        onSubmit={form.onSubmit(() => {
          setFailure(undefined);
          save.mutate();
        }, focusFirstInvalid)}
      >
        <fieldset disabled={readOnly !== undefined} className={styles['bare']}>
          <Stack gap="lg">
            {SECTIONS.map((section) => (
              <Section key={section} title={t(`settings.${section}`)} about={about[section]}>
                {rowsOf(section, values, mayShare).map((row) => (
                  <Row key={row.join()} form={form} fields={row} />
                ))}
              </Section>
            ))}
          </Stack>
        </fieldset>
        {failure !== undefined && (
          <FormFailure
            error={failure}
            edited={{
              form,
              valuesOf,
              onDone: () => setFailure(undefined),
            }}
          />
        )}
        {changed.length > 0 && (
          <div className={styles['saveBar']} role="region" aria-label={t('settings.changes')}>
            <div className={styles['saveText']}>
              <Text size="sm" fw={600} role="status">
                {t('settings.changed', { count: changed.length })}
              </Text>
              <Text size="xs" c="dimmed">
                {changed
                  .slice(0, 3)
                  .map(
                    (field) =>
                      `${t(`field.${field}`)}: ${formatSetting(field, form.values[field])}`,
                  )
                  .join(' · ')}
                {changed.length > 3 && ' …'}
              </Text>
              {again.length > 0 && (
                <Checkbox
                  mt={6}
                  size="xs"
                  label={t('settings.reparse', { count: base.documentCount })}
                  description={t(required ? 'settings.reparseRequired' : 'settings.reparseHint')}
                  checked={reparse || required}
                  disabled={required}
                  onChange={({ currentTarget }) => setReparse(currentTarget.checked)}
                />
              )}
            </div>
            <Group gap="xs" wrap="nowrap">
              <Button
                variant="default"
                onClick={() => {
                  startFrom(form, valuesOf(base));
                  setFailure(undefined);
                }}
              >
                {t('settings.discard')}
              </Button>
              <Button type="submit" loading={save.isPending}>
                {t('settings.save')}
              </Button>
            </Group>
          </div>
        )}
      </form>
      <LeaveGuard form={form} dirty={changed.length > 0 && !save.isPending} />
      {base.level === 'manage' && can('system:info:remove') && <DangerZone base={base} />}
    </>
  );
}

function valuesOf(base: KnowledgeView): Values {
  return { ...settingsOf(base), revision: base.revision };
}

/** An empty string clears a number. */
function toWire(value: unknown): unknown {
  return value ?? '';
}

const SECTIONS = [...new Set(FIELDS.map((field) => settingInfo(field).section))];

/** Fields of a section that have an effect. Consecutive numbers share a row. */
function rowsOf(section: SectionName, values: Stored, mayShare: boolean): Field[][] {
  const rows: Field[][] = [];
  for (const field of FIELDS) {
    if (settingInfo(field).section !== section || !isEffective(field, values)) continue;
    if (field === 'share' && !mayShare) continue;
    const row = rows.at(-1);
    if (isNumber(field) && row?.every(isNumber)) row.push(field);
    else rows.push([field]);
  }
  return rows;
}

function isNumber(field: Field): boolean {
  return ['whole', 'decimal'].includes(settingInfo(field).kind);
}

interface RowProps {
  readonly form: SettingsForm;
  readonly fields: readonly Field[];
}

function Row({ form, fields }: RowProps) {
  const { t } = useTranslation('knowledge');
  const [first] = fields;
  if (first !== undefined && fields.length === 1) {
    return (
      <>
        <SettingField form={form} name={first} />
        {first === 'rerankModel' && form.values.rerankModel === '' && (
          <Alert color="yellow" variant="light" role="status">
            {t('settings.noRerankModel')}
          </Alert>
        )}
      </>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      {fields.map((field) => (
        <SettingField key={field} form={form} name={field} />
      ))}
    </SimpleGrid>
  );
}

interface SectionProps {
  readonly title: string;
  readonly about?: ReactNode;
  readonly children: ReactNode;
}

function Section({ title, about, children }: SectionProps) {
  return (
    <Fieldset
      variant="unstyled"
      legend={<Title order={2}>{title}</Title>}
      className={styles['section']}
    >
      {about && (
        <Text size="sm" c="dimmed" component="div" mb="md">
          {about}
        </Text>
      )}
      <Stack gap="md">{children}</Stack>
    </Fieldset>
  );
}

/** Link to the preview, which requires a document. */
function TrySplit({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { data } = useQuery({
    queryKey: [...baseKey(base.id), 'newest document'],
    queryFn: ({ signal }) =>
      plinth.attachList({ query: { knowledgeId: base.id, pageSize: 1, status: 2 }, signal }),
  });
  const document = data?.rows[0];
  if (!document) return t('settings.splittingAbout');
  return (
    <>
      {t('settings.splittingAbout')}{' '}
      <Link
        to="/knowledge/$knowledgeId/documents/$documentId"
        params={{ knowledgeId: String(base.id), documentId: String(document.id) }}
        search={{ view: 'split' }}
        className={styles['link'] ?? ''}
      >
        {t('split.tryOn', { name: document.name })}
      </Link>
    </>
  );
}

function DangerZone({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const navigate = useNavigate();
  const remove = useAction(() => plinth.knowledgeRemove({ path: { ids: [String(base.id)] } }), {
    done: t('base.deleted'),
    after: () => void navigate({ to: '/knowledge' }),
    changes: [['knowledge', 'list']],
  });
  return (
    <section className={styles['danger']}>
      <Title order={2}>{t('settings.danger')}</Title>
      <Group justify="space-between" gap="sm">
        <Text size="sm" maw={480}>
          {t('settings.dangerAbout', { count: base.documentCount })}
        </Text>
        <ActionButton
          variant="default"
          c="var(--plinth-bad)"
          icon={IconTrash}
          onClick={() =>
            confirmDestruction({
              title: t('base.delete'),
              body: t('base.deleteBody', { name: base.name, count: base.documentCount }),
              action: t('base.delete'),
              name: base.name,
              run: () => remove.mutateAsync(),
            })
          }
        >
          {t('base.delete')}
        </ActionButton>
      </Group>
    </section>
  );
}
