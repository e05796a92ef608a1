import {
  Checkbox,
  NumberInput,
  PasswordInput,
  Select,
  SimpleGrid,
  Text,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ConnectorBody, KnowledgeSourceView, KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';
import { baseKey } from './base';

export type ConnectorKind = ConnectorBody['kind'];

const DEFAULT_PAGES = 1_000;
const DEFAULT_DEPTH = 10;
const MAX_PATTERNS = 20;
const CRON = /^\S+(\s+\S+){4}$/;

/** Schedules that a form offers; any other one is a cron expression. */
const SCHEDULES = {
  manual: '',
  hourly: '0 * * * *',
  daily: '0 6 * * *',
  weekdays: '0 6 * * 1-5',
  weekly: '0 6 * * 1',
} as const;
type Schedule = keyof typeof SCHEDULES | 'custom';
const CHOICES: readonly Schedule[] = ['manual', 'hourly', 'daily', 'weekdays', 'weekly', 'custom'];

export function scheduleOf(cron: string | null): Schedule {
  return CHOICES.find((one) => one !== 'custom' && SCHEDULES[one] === (cron ?? '')) ?? 'custom';
}

const ownZone = Intl.DateTimeFormat().resolvedOptions().timeZone;
/** Without UTC in some browsers, which is common on servers. */
const ZONES = Intl.supportedValuesOf('timeZone');
const MAX_SHOWN_ZONES = 50;

interface Props {
  readonly base: KnowledgeView;
  readonly kind: ConnectorKind;
  /** The source to edit; undefined for a new one. */
  readonly source?: KnowledgeSourceView | undefined;
  /** Names of the other sources of the base. */
  readonly names: readonly string[];
  readonly onClose: () => void;
}

/** Form of a connector: the address, what of it is read, and when. */
export function ConnectorDrawer({ base, kind, source, names, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const form = useForm({
    initialValues: valuesOf(source),
    validate: {
      name: (name) => {
        if (name.trim() === '') return t('source.nameMissing');
        return names.includes(name.trim()) ? t('source.nameTwice') : null;
      },
      address: (address) =>
        /^https?:\/\/[^/\s]\S*$/i.test(address.trim()) ? null : t('source.addressRule'),
      patterns: (patterns) =>
        patternsOf(patterns).length > MAX_PATTERNS
          ? t('source.patternsRule', { count: MAX_PATTERNS })
          : null,
      cron: (cron, { schedule }) =>
        schedule === 'custom' && !CRON.test(cron.trim()) ? t('source.cronRule') : null,
    },
  });
  const { schedule } = form.values;
  const zones = [...new Set(['UTC', ...ZONES, ...(source?.timeZone ? [source.timeZone] : [])])];
  return (
    <FormDrawer
      title={source ? t('source.edit', { name: source.name }) : t(`source.connect.${kind}`)}
      record={source?.id}
      form={form}
      action={t(source ? 'source.save' : `source.connect.${kind}`)}
      onSubmit={(values) =>
        plinth.sourceSave({ path: { knowledgeId: base.id }, body: bodyOf(kind, values) })
      }
      done={t(source ? 'source.saved' : 'source.connected')}
      changes={[[...baseKey(base.id), 'sources']]}
      onClose={onClose}
    >
      <Text size="sm" c="dimmed">
        {t('source.readers')}
      </Text>
      <TextInput
        label={t('source.nameLabel')}
        maxLength={100}
        required
        disabled={source !== undefined}
        data-autofocus={!source || undefined}
        {...form.getInputProps('name')}
      />
      <TextInput
        label={t(`source.address.${kind}`)}
        description={t(`source.addressHelp.${kind}`)}
        placeholder={t(`source.addressExample.${kind}`)}
        type="url"
        maxLength={2_000}
        required
        {...form.getInputProps('address')}
      />
      {kind !== 'web' && (
        <>
          <PasswordInput
            label={t(`source.token.${kind}`)}
            description={t(source?.hasToken ? 'source.tokenKept' : `source.tokenHelp.${kind}`)}
            maxLength={1_000}
            autoComplete="new-password"
            visibilityToggleButtonProps={{ 'aria-label': t('source.showToken') }}
            disabled={form.values.removesToken}
            {...form.getInputProps('token')}
          />
          {source?.hasToken && (
            <Checkbox
              label={t('source.removeToken')}
              {...form.getInputProps('removesToken', { type: 'checkbox' })}
            />
          )}
          <SimpleGrid cols={{ base: 1, xs: 2 }}>
            {kind === 'git' && (
              <TextInput
                label={t('source.branch')}
                description={t('source.branchHelp')}
                maxLength={250}
                {...form.getInputProps('branch')}
              />
            )}
            <TextInput
              label={t('source.folder')}
              description={t(`source.folderHelp.${kind}`)}
              maxLength={1_000}
              {...form.getInputProps('folder')}
            />
          </SimpleGrid>
          <Textarea
            label={t('source.patterns')}
            description={t('source.patternsHelp')}
            placeholder="**/*.md"
            autosize
            minRows={2}
            maxRows={8}
            {...form.getInputProps('patterns')}
          />
        </>
      )}
      <SimpleGrid cols={{ base: 1, xs: 2 }}>
        <NumberInput
          label={t(`source.maximum.${kind}`)}
          description={t('source.maximumHelp')}
          min={1}
          max={100_000}
          allowDecimal={false}
          {...form.getInputProps('maxPages')}
        />
        {kind === 'web' && (
          <NumberInput
            label={t('source.depth')}
            description={t('source.depthHelp')}
            min={0}
            max={100}
            allowDecimal={false}
            {...form.getInputProps('maxDepth')}
          />
        )}
      </SimpleGrid>
      <Select
        label={t('source.scheduleLabel')}
        allowDeselect={false}
        data={CHOICES.map((value) => ({ value, label: t(`source.schedule.${value}`) }))}
        {...form.getInputProps('schedule')}
      />
      {schedule === 'custom' && (
        <TextInput
          label={t('source.cron')}
          description={t('source.cronHelp')}
          placeholder="30 7 * * 1-5"
          maxLength={100}
          required
          {...form.getInputProps('cron')}
        />
      )}
      {schedule !== 'manual' && (
        <Select
          label={t('source.timeZone')}
          placeholder={t('source.timeZoneOfService')}
          searchable
          clearable
          limit={MAX_SHOWN_ZONES}
          data={zones}
          nothingFoundMessage={t('source.noTimeZone')}
          {...form.getInputProps('timeZone')}
        />
      )}
    </FormDrawer>
  );
}

interface Values {
  readonly name: string;
  readonly address: string;
  readonly maxPages: number | string;
  readonly maxDepth: number | string;
  readonly branch: string;
  readonly folder: string;
  /** One pattern a line. */
  readonly patterns: string;
  readonly token: string;
  readonly removesToken: boolean;
  readonly schedule: Schedule;
  readonly cron: string;
  readonly timeZone: string | null;
}

function valuesOf(source: KnowledgeSourceView | undefined): Values {
  const { cron = null, timeZone = null } = source ?? {};
  return {
    name: source?.name ?? '',
    address: source?.address ?? '',
    maxPages: source?.maxPages ?? DEFAULT_PAGES,
    maxDepth: source?.maxDepth ?? DEFAULT_DEPTH,
    branch: source?.branch ?? '',
    folder: source?.folder ?? '',
    patterns: source?.patterns.join('\n') ?? '',
    token: '',
    removesToken: false,
    schedule: scheduleOf(cron),
    cron: cron ?? '',
    timeZone: cron === null ? ownZone : timeZone,
  };
}

/** The service replaces all fields but the token, and has a default for each number. */
function bodyOf(kind: ConnectorKind, values: Values): ConnectorBody {
  const { maxPages, maxDepth, schedule, timeZone } = values;
  const cron = schedule === 'custom' ? values.cron.trim() : SCHEDULES[schedule];
  const common = {
    name: values.name.trim(),
    kind,
    address: values.address.trim(),
    ...(maxPages !== '' && { maxPages: Number(maxPages) }),
    ...(cron !== '' && { cron }),
    ...(cron !== '' && timeZone && { timeZone }),
  };
  if (kind === 'web') return { ...common, ...(maxDepth !== '' && { maxDepth: Number(maxDepth) }) };
  const branch = values.branch.trim();
  const token = values.removesToken ? '' : values.token.trim() || undefined;
  return {
    ...common,
    folder: values.folder.trim(),
    patterns: patternsOf(values.patterns),
    ...(kind === 'git' && branch && { branch }),
    ...(token !== undefined && { token }),
  };
}

function patternsOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}
