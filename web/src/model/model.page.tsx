import {
  Alert,
  Button,
  Divider,
  Group,
  NumberInput,
  PasswordInput,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError, withMessage } from '@plinth/client';
import type { ModelView, ProviderView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { Failure, NotFound, PageSkeleton } from '../ui/states';
import { focusFirstInvalid, FormFailure, LeaveGuard, useRecordForm } from '../ui/form';
import { Page } from '../ui/page';
import { Alternatives } from './alternatives';
import { CATEGORIES, isCategory } from './categories';
import { Diagnosis } from './diagnosis';
import { OfferedModels } from './offered-models';
import { PriceFields } from './prices';
import styles from './model.module.css';
import { AUTH_TYPES, bodyOf, hasAlternatives, valuesOf } from './values';

const ALL = { pageSize: 1_000 } as const;

/** The page of a model; `/models/new` adds one. */
export default function ModelPage() {
  const { modelId = 'new' } = useParams({ strict: false });
  const isNew = modelId === 'new';
  const model = useQuery({
    queryKey: ['models', modelId],
    queryFn: ({ signal }) => plinth.modelGet({ path: { id: Number(modelId) }, signal }),
    enabled: !isNew,
  });
  const providers = useQuery({
    queryKey: ['providers', 'choices'],
    queryFn: ({ signal }) => plinth.providerList({ query: ALL, signal }),
  });
  const error = model.error ?? providers.error;
  if (error instanceof ApiError && error.code === 404) return <NotFound />;
  const ready = providers.data && (isNew || model.data);
  if (error && !ready) {
    const retry = (): void => void Promise.all([model.refetch(), providers.refetch()]);
    return <Failure error={error} onRetry={retry} />;
  }
  if (!ready) return <PageSkeleton />;
  return <ModelForm key={modelId} model={model.data} providers={providers.data.rows} />;
}

interface FormProps {
  readonly model: ModelView | undefined;
  readonly providers: readonly ProviderView[];
}

function ModelForm({ model, providers }: FormProps) {
  const { t } = useTranslation('model');
  const { may } = useMe();
  const navigate = useNavigate();
  const [address] = useSearchParams();
  const [failure, setFailure] = useState<unknown>();
  const [testedAt, setTestedAt] = useState(0);
  const [replacesKey, setReplacesKey] = useState(!model?.hasApiKey);
  const canEdit = may(model ? 'system:model:edit' : 'system:model:add');
  const canTest = may('system:model:test');
  const { data: codes } = useQuery({
    queryKey: ['provider-codes'],
    queryFn: ({ signal }) => plinth.modelProviderOptions({ signal }),
    staleTime: Infinity,
  });
  const form = useForm({
    initialValues: valuesOf(model, address['category'] ?? 'chat'),
    validate: {
      providerCode: (value) => (value === '' ? t('providerMissing') : null),
      modelName: (value) => (value.trim() === '' ? t('nameMissing') : null),
      apiHost: (value, { providerCode }) =>
        isCustom(providerCode) && value.trim() === '' ? t('addressMissing') : null,
      modelDimension: (value, { category }) =>
        category === 'vector' && value === '' ? t('dimensionMissing') : null,
      keys: {
        label: (value) => (value.trim() === '' ? t('alternatives.keyNameMissing') : null),
        apiKey: (value, { keys }, path) =>
          value === '' && keys[Number(path.split('.')[1])]?.id === undefined
            ? t('alternatives.keyMissing')
            : null,
      },
    },
  });
  useRecordForm(form, valuesOf(model, address['category'] ?? 'chat'));
  const { providerCode, category } = form.values;
  const chosen = providers.find((one) => one.providerCode === providerCode);
  const save = useAction(
    (values: typeof form.values) => {
      const body = bodyOf(values);
      return model
        ? withMessage(plinth.modelUpdate, { body: { id: model.id, ...body } })
        : withMessage(plinth.modelCreate, { body });
    },
    { done: ({ message }) => message, changes: [['models'], ['home']], onFailure: setFailure },
  );
  const submit = (after: (id: number) => void) =>
    form.onSubmit((values) => {
      setFailure(undefined);
      void save.mutateAsync(values).then(
        ({ result: stored }) => {
          // Reloads the keys, because entered keys are cleared and new ones now have ids.
          const { apiKey, keys, revision } = valuesOf(stored, category);
          form.setValues({ apiKey, keys, revision });
          form.resetDirty();
          after(stored.id);
        },
        () => undefined,
      );
    }, focusFirstInvalid);
  /** A new model is opened at its own URL. The test runs there, after the key was cleared from the form. */
  const saved = (id: number, isTested: boolean): void => {
    const search = isTested ? { test: 'now' } : {};
    const params = { modelId: String(id) };
    if (model) {
      if (isTested) setTestedAt(Date.now());
      return;
    }
    void navigate({
      to: '/models/$modelId',
      params,
      search,
      replace: true,
      ignoreBlocker: true,
    });
  };

  const chooseProvider = (code: string | null): void => {
    const provider = providers.find((one) => one.providerCode === code);
    // The address of a regular provider is copied; with a custom protocol it is entered for each model. Without an address to
    // copy, an entered address is kept.
    const copied = code === null || isCustom(code) ? '' : (provider?.apiHost ?? '');
    const isEntered = form.values.apiHost !== (chosen?.apiHost ?? '');
    form.setValues({
      providerCode: code ?? '',
      apiHost: copied === '' && isEntered ? form.values.apiHost : copied,
    });
  };
  const title = model ? model.modelDescribe || model.modelName : t('add');
  return (
    <Page title={title} width="reading" above={[{ title: t('title'), path: '/models' }]}>
      <LeaveGuard form={form} dirty={form.isDirty()} />
      {!canEdit && (
        <Alert mb="md" color="gray">
          {t('readOnly')}
        </Alert>
      )}
      <form onSubmit={submit((id) => saved(id, false))} noValidate>
        <fieldset disabled={!canEdit} className={styles['fieldset']}>
          <Stack gap="lg">
            <Stack className={styles['section']}>
              <Title order={2}>{t('sections.provider')}</Title>
              <div className={styles['columns']}>
                <Select
                  label={t('provider')}
                  withAsterisk
                  searchable
                  allowDeselect={false}
                  disabled={!canEdit}
                  data={providers.map((one) => ({
                    value: one.providerCode,
                    label: `${one.providerName}${one.status === 0 ? '' : ` (${t('providerDisabled')})`}`,
                    disabled: one.status !== 0,
                  }))}
                  nothingFoundMessage={t('noProvider')}
                  {...form.getInputProps('providerCode')}
                  onChange={chooseProvider}
                />
                <Select
                  label={t('categoryTitle')}
                  withAsterisk
                  allowDeselect={false}
                  disabled={!canEdit}
                  data={[
                    ...CATEGORIES.map((value) => ({ value, label: t(`category.${value}`) })),
                    ...(isCategory(category) ? [] : [{ value: category, label: category }]),
                  ]}
                  {...form.getInputProps('category')}
                />
              </div>
              {providers.length === 0 && (
                <Text size="sm" c="dimmed">
                  {t('noProviderHint')} <Link to="/providers">{t('toProviders')}</Link>
                </Text>
              )}
            </Stack>

            <Stack className={styles['section']}>
              <Title order={2}>{t('sections.address')}</Title>
              <TextInput
                label={t('address')}
                description={addressHelp()}
                placeholder="https://api.example.com/v1"
                withAsterisk={isCustom(providerCode)}
                {...form.getInputProps('apiHost')}
              />
              <Select
                label={t('auth.title')}
                allowDeselect={false}
                disabled={!canEdit}
                data={[...(model ? [] : (['default'] as const)), ...AUTH_TYPES].map((value) => ({
                  value,
                  label: t(`auth.${value}`),
                }))}
                {...form.getInputProps('authType')}
              />
              {replacesKey ? (
                <PasswordInput
                  label={t(model?.hasApiKey ? 'newKey' : 'key')}
                  description={keyHelp()}
                  autoComplete="off"
                  visibilityToggleButtonProps={{ 'aria-label': t('showKey') }}
                  {...form.getInputProps('apiKey')}
                />
              ) : (
                <Group>
                  <Text>{t('keyIsStored')}</Text>
                  <Button variant="default" size="xs" onClick={() => setReplacesKey(true)}>
                    {t('replaceKey')}
                  </Button>
                </Group>
              )}
            </Stack>

            <Stack className={styles['section']}>
              <Title order={2}>{t('sections.model')}</Title>
              {chosen && canEdit && may('system:provider:query') && (
                <OfferedModels form={form} providerId={chosen.id} />
              )}
              <div className={styles['columns']}>
                <TextInput
                  label={t('name')}
                  description={t('nameHelp')}
                  withAsterisk
                  {...form.getInputProps('modelName')}
                />
                <TextInput
                  label={t('shownName')}
                  description={t('shownNameHelp')}
                  {...form.getInputProps('modelDescribe')}
                />
                {category === 'vector' && (
                  <NumberInput
                    label={t('dimension')}
                    description={t('dimensionHelp')}
                    withAsterisk
                    min={1}
                    allowDecimal={false}
                    thousandSeparator
                    {...form.getInputProps('modelDimension')}
                  />
                )}
                {category === 'chat' && (
                  <>
                    <NumberInput
                      label={t('contextWindow')}
                      description={t('contextWindowHelp')}
                      min={1}
                      allowDecimal={false}
                      thousandSeparator
                      {...form.getInputProps('contextWindow')}
                    />
                    <NumberInput
                      label={t('maxOutput')}
                      description={t('maxOutputHelp')}
                      min={1}
                      allowDecimal={false}
                      thousandSeparator
                      {...form.getInputProps('maxOutput')}
                    />
                    {(['supportsTools', 'supportsVision'] as const).map((ability) => (
                      <Select
                        key={ability}
                        label={t(ability)}
                        allowDeselect={false}
                        disabled={!canEdit}
                        data={(['unknown', 'yes', 'no'] as const).map((value) => ({
                          value,
                          label: t(`answer.${value}`),
                        }))}
                        {...form.getInputProps(ability)}
                      />
                    ))}
                  </>
                )}
              </div>
              <PriceFields form={form} />
              <Textarea label={t('remark')} {...form.getInputProps('remark')} />
              <Switch
                label={t('shownHelp')}
                {...form.getInputProps('modelShow', { type: 'checkbox' })}
              />
              <Switch
                label={t('strict')}
                description={t('strictHelp')}
                {...form.getInputProps('strictParameters', { type: 'checkbox' })}
              />
            </Stack>

            {hasAlternatives(category) && (
              <Alternatives form={form} modelId={model?.id} disabled={!canEdit} />
            )}

            {failure !== undefined && (
              <FormFailure
                error={failure}
                edited={{
                  form,
                  valuesOf: (record: ModelView) => valuesOf(record, category),
                  onDone: () => setFailure(undefined),
                }}
              />
            )}
            {canEdit && (
              <Group justify="flex-end">
                {canTest && (
                  <Button
                    variant="default"
                    loading={save.isPending}
                    onClick={() => submit((id) => saved(id, true))()}
                  >
                    {t('test.saveAndRun')}
                  </Button>
                )}
                <Button type="submit" loading={save.isPending}>
                  {t('save')}
                </Button>
              </Group>
            )}
          </Stack>
        </fieldset>
      </form>
      {model && (testedAt > 0 || address['test'] !== undefined) && (
        <>
          <Divider my="lg" />
          <Title order={2} mb="sm">
            {t('test.title', { name: model.modelName })}
          </Title>
          <Diagnosis key={testedAt} modelId={model.id} />
        </>
      )}
    </Page>
  );

  function keyHelp(): string {
    const { authType } = form.values;
    if (authType === 'entra' || authType === 'google' || authType === 'aws') {
      return t(`auth.${authType}Help`);
    }
    return t(model?.hasApiKey ? 'newKeyHelp' : 'keyHelp');
  }

  function addressHelp(): string {
    const option = codes?.find(({ value }) => value === providerCode);
    if (isCustom(providerCode)) return t('addressCustom');
    if (option?.defaultAddress) return t('addressDefault', { address: option.defaultAddress });
    return t('addressHelp');
  }
}

/** Provider codes of custom protocols, whose address differs for each model. */
function isCustom(code: string): boolean {
  return code.startsWith('custom_');
}
