import {
  Alert,
  Badge,
  Button,
  Checkbox,
  Fieldset,
  Group,
  NumberInput,
  Radio,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { UseFormReturnType } from '@mantine/form';
import { IconTrash } from '@tabler/icons-react';
import { withMessage } from '@plinth/client';
import type { KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { FormFailure } from '../ui/form-drawer';
import { startFrom, useRecordForm } from '../ui/record-form';
import type { Revised } from '../ui/record-form';
import { LeaveGuard } from '../ui/leave-guard';
import { ModelPicker } from '../ui/pickers';
import { baseKey, useBaseAccess } from './base';
import {
  changedOf,
  languageChoices,
  needsParsing,
  requiresParsing,
  settingsOf,
  useShownSetting,
} from './base-settings';
import type { Field, Settings as Stored } from './base-settings';
import { focusFirstInvalid } from '../ui/first-invalid';
import styles from './knowledge.module.css';

type Values = Stored & Revised;

/** Every setting of the base with what it does and what its change costs. */
export default function Settings({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { can, readOnly } = useBaseAccess(base);
  const [failure, setFailure] = useState<unknown>();
  const [reparse, setReparse] = useState(true);
  const shown = useShownSetting();
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
          ...Object.fromEntries(changed.map((field) => [field, toWire(field, form.values[field])])),
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
  const flag = (name: 'share' | 'enableOcr' | 'enableHybrid' | 'enableRerank') => ({
    checked: values[name] === 1,
    onChange: ({ currentTarget }: { currentTarget: { checked: boolean } }) =>
      form.setFieldValue(name, currentTarget.checked ? 1 : 0),
  });
  const describe = (field: Field, help: string) => <Help field={field} text={help} />;
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
            <Section title={t('settings.general')}>
              <TextInput
                label={t('field.name')}
                required
                maxLength={50}
                {...form.getInputProps('name')}
              />
              <Textarea
                label={t('field.description')}
                description={t('help.description')}
                autosize
                minRows={2}
                maxLength={1_000}
                {...form.getInputProps('description')}
              />
              <Switch
                label={t('base.shareWithAll')}
                description={t('help.share')}
                {...flag('share')}
              />
              <Textarea
                label={t('field.remark')}
                description={t('help.remark')}
                autosize
                minRows={1}
                maxLength={500}
                {...form.getInputProps('remark')}
              />
            </Section>
            <Section title={t('settings.splitting')} about={<TrySplit base={base} />}>
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                <NumberInput
                  label={t('field.textBlockSize')}
                  description={describe('textBlockSize', t('help.textBlockSize'))}
                  min={1}
                  max={1_000_000}
                  step={100}
                  {...form.getInputProps('textBlockSize')}
                />
                <NumberInput
                  label={t('field.overlapChar')}
                  description={describe('overlapChar', t('help.overlapChar'))}
                  min={0}
                  step={10}
                  {...form.getInputProps('overlapChar')}
                />
              </SimpleGrid>
              <TextInput
                label={t('field.separator')}
                description={describe('separator', t('help.separator'))}
                maxLength={255}
                {...form.getInputProps('separator')}
              />
            </Section>
            <Section title={t('settings.reading')}>
              <Select
                label={t('field.language')}
                description={describe('language', t('help.language'))}
                data={languageChoices(t('language.auto'))}
                searchable
                allowDeselect={false}
                {...form.getInputProps('language')}
              />
              <Switch
                label={t('field.enableOcr')}
                description={describe('enableOcr', t('help.enableOcr'))}
                {...flag('enableOcr')}
              />
              {values.enableOcr === 1 && (
                <ModelPicker
                  category="chat"
                  label={t('field.ocrModel')}
                  description={describe('ocrModel', t('help.ocrModel'))}
                  placeholder={t('settings.tesseract')}
                  clearable
                  {...form.getInputProps('ocrModel')}
                />
              )}
              <ModelPicker
                category="chat"
                label={t('field.contextModel')}
                description={describe('contextModel', t('help.contextModel'))}
                placeholder={t('none')}
                clearable
                {...form.getInputProps('contextModel')}
              />
            </Section>
            <Section title={t('settings.index')}>
              <ModelPicker
                category="vector"
                label={t('field.embeddingModel')}
                description={describe('embeddingModel', t('help.embeddingModel'))}
                {...form.getInputProps('embeddingModel')}
              />
              <TextInput
                label={t('field.vectorModel')}
                description={describe('vectorModel', t('help.vectorModel'))}
                placeholder={t('settings.defaultStore')}
                maxLength={50}
                {...form.getInputProps('vectorModel')}
              />
            </Section>
            <Section title={t('settings.search')} about={t('settings.searchAbout')}>
              <SimpleGrid cols={{ base: 1, xs: 2 }}>
                <NumberInput
                  label={t('field.retrieveLimit')}
                  description={t('help.retrieveLimit')}
                  min={1}
                  max={200}
                  {...form.getInputProps('retrieveLimit')}
                />
                <NumberInput
                  label={t('field.similarityThreshold')}
                  description={t('help.similarityThreshold')}
                  min={-1}
                  max={1}
                  step={0.05}
                  decimalScale={3}
                  {...form.getInputProps('similarityThreshold')}
                />
              </SimpleGrid>
              <Switch
                label={t('field.enableHybrid')}
                description={t('help.enableHybrid')}
                {...flag('enableHybrid')}
              />
              {values.enableHybrid === 1 && (
                <NumberInput
                  label={t('field.hybridAlpha')}
                  description={t('help.hybridAlpha')}
                  min={0}
                  max={1}
                  step={0.1}
                  decimalScale={3}
                  {...form.getInputProps('hybridAlpha')}
                />
              )}
              <Switch
                label={t('field.enableRerank')}
                description={t('help.enableRerank')}
                {...flag('enableRerank')}
              />
              {values.enableRerank === 1 && (
                <>
                  <ModelPicker
                    category="rerank"
                    label={t('field.rerankModel')}
                    description={t('help.rerankModel')}
                    clearable
                    {...form.getInputProps('rerankModel')}
                  />
                  {values.rerankModel === '' && (
                    <Alert color="yellow" variant="light" role="status">
                      {t('settings.noRerankModel')}
                    </Alert>
                  )}
                  <SimpleGrid cols={{ base: 1, xs: 2 }}>
                    <NumberInput
                      label={t('field.rerankTopN')}
                      description={t('help.rerankTopN')}
                      min={0}
                      {...optionalNumber(form, 'rerankTopN')}
                    />
                    <NumberInput
                      label={t('field.rerankScoreThreshold')}
                      description={t('help.rerankScoreThreshold')}
                      step={0.05}
                      decimalScale={4}
                      {...optionalNumber(form, 'rerankScoreThreshold')}
                    />
                  </SimpleGrid>
                </>
              )}
            </Section>
            <Section title={t('settings.neighbours')} about={t('help.neighbours')}>
              <Radio.Group aria-label={t('field.neighbours')} {...form.getInputProps('neighbours')}>
                <Stack gap="xs">
                  {(['none', 'adjacent', 'section'] as const).map((mode) => (
                    <Radio
                      key={mode}
                      value={mode}
                      label={t(`neighbours.${mode}`)}
                      description={t(`neighboursHelp.${mode}`)}
                    />
                  ))}
                </Stack>
              </Radio.Group>
              {values.neighbours !== 'none' && (
                <NumberInput
                  label={t('field.neighbourCharacters')}
                  description={t('help.neighbourCharacters')}
                  min={1}
                  max={100_000}
                  step={500}
                  {...form.getInputProps('neighbourCharacters')}
                />
              )}
            </Section>
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
                  .map((field) => `${t(`field.${field}`)}: ${shown(field, form.values[field])}`)
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
      {can('system:info:remove') && <DangerZone base={base} />}
    </>
  );
}

function valuesOf(base: KnowledgeView): Values {
  return { ...settingsOf(base), revision: base.revision };
}

/** An emptied number is cleared: rerankTopN by 0, the score by an empty text. */
function toWire(field: Field, value: unknown): unknown {
  if (value !== null) return value;
  return field === 'rerankTopN' ? 0 : '';
}

function optionalNumber(
  form: Pick<UseFormReturnType<Values>, 'getInputProps' | 'setFieldValue'>,
  name: 'rerankTopN' | 'rerankScoreThreshold',
) {
  const {
    onChange: _,
    value,
    ...props
  } = form.getInputProps(name) as {
    onChange: unknown;
    value: number | null;
  };
  return {
    ...props,
    value: value ?? '',
    onChange: (typed: number | string) =>
      form.setFieldValue(name, typed === '' ? null : Number(typed)),
  };
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

/** What a setting does, and a mark where a change has an effect only after parsing again. */
function Help({ field, text }: { readonly field: Field; readonly text: string }) {
  const { t } = useTranslation('knowledge');
  return (
    <>
      {text}
      {needsParsing(field) && (
        <>
          {' '}
          <Badge component="span" size="xs" variant="default" fw={400}>
            {t('settings.needsParsing')}
          </Badge>
        </>
      )}
    </>
  );
}

/** A way to the preview, which needs a document. */
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
        <Button
          variant="default"
          c="var(--plinth-bad)"
          leftSection={<IconTrash size={16} stroke={1.5} />}
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
        </Button>
      </Group>
    </section>
  );
}
