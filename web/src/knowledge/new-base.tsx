import { Switch, Text, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useEffect } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { TextLink } from '../ui/buttons';
import { FormDrawer } from '../ui/form';
import { ModelPicker } from '../ui/pickers';
import { notifySuccess } from '../ui/notify';

/** Form for a new base: name and model. All other settings start with the service's defaults. */
export function NewBase({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation('knowledge');
  const { may } = useMe();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const form = useForm({
    initialValues: { name: '', description: '', embeddingModel: '', shared: false },
    validate: {
      name: (name) => (name.trim() === '' ? t('base.nameMissing') : null),
    },
  });
  const { data: models } = useQuery({
    queryKey: ['models', 'choices', 'vector'],
    queryFn: ({ signal }) =>
      plinth.modelOptions({ query: { category: 'vector', pageSize: 1_000 }, signal }),
    staleTime: 30_000,
  });
  const only = models?.rows[0]?.modelName;
  // Preselects the installation's default model unless the user has already chosen one.
  useEffect(() => {
    if (only === undefined || form.values.embeddingModel !== '' || form.isDirty('embeddingModel'))
      return;
    form.setFieldValue('embeddingModel', only);
    form.resetDirty({ ...form.values, embeddingModel: only });
  }, [only, form]);
  const create = async ({
    name,
    description,
    embeddingModel,
    shared,
  }: typeof form.values): Promise<void> => {
    await plinth.knowledgeCreate({
      body: { name: name.trim(), description, embeddingModel, share: shared ? 1 : 0 },
    });
    void queries.invalidateQueries({ queryKey: ['knowledge'] });
    notifySuccess(t('base.created', { name: name.trim() }));
    // The service does not return the id, so the newest base with this name is used.
    const { rows } = await plinth.knowledgeList({
      query: { name: name.trim(), pageSize: 1, orderByColumn: 'id', isAsc: 'desc' },
    });
    const created = rows[0];
    if (created)
      await navigate({
        to: '/knowledge/$knowledgeId',
        params: { knowledgeId: String(created.id) },
      });
  };
  return (
    <FormDrawer
      title={t('base.add')}
      form={form}
      action={t('base.create')}
      onSubmit={create}
      onClose={onClose}
    >
      <TextInput
        label={t('base.name')}
        maxLength={50}
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      <Textarea
        label={t('field.description')}
        description={t('help.description')}
        maxLength={1_000}
        {...form.getInputProps('description')}
      />
      <ModelPicker
        category="vector"
        label={t('field.embeddingModel')}
        description={t('help.embeddingModelNew')}
        clearable
        {...form.getInputProps('embeddingModel')}
      />
      {models?.rows.length === 0 && (
        <Text size="sm">
          {t('base.noModels')}{' '}
          {may('system:model:add') && (
            <TextLink size="sm" to="/models">
              {t('base.addModel')}
            </TextLink>
          )}
        </Text>
      )}
      {may('access:publish') && (
        <Switch
          label={t('base.shareWithAll')}
          description={t('help.share')}
          {...form.getInputProps('shared', { type: 'checkbox' })}
        />
      )}
      <Text size="sm" c="dimmed">
        {t('base.defaults')}
      </Text>
    </FormDrawer>
  );
}
