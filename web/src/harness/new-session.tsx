import { Radio, Select, Stack, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { HarnessSessionView } from '@plinth/client';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';
import { Failure } from '../ui/states';
import { newKey } from './key';
import { ModelSelect, useHarnessModels } from './model-select';

interface Props {
  readonly onClose: () => void;
  readonly onCreated: (session: HarnessSessionView) => void;
}

const MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
const POLICIES = ['ON_REQUEST', 'NEVER'] as const;

/** Form that starts a session in a folder of the server, with a model and its permissions. */
export function NewSession({ onClose, onCreated }: Props) {
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const queries = useQueryClient();
  const mayWrite = may('coding:harness:write');
  // Retries use the same key, so that a lost answer does not create a second session.
  const key = useRef(newKey());
  const workspaces = useQuery({
    queryKey: ['harness', 'workspaces'],
    queryFn: ({ signal }) => plinth.workspaceList({ signal }),
  });
  const form = useForm({
    initialValues: {
      workspacePath: '',
      title: '',
      model: '',
      permissionMode: (mayWrite ? 'WORKSPACE_WRITE' : 'READ_ONLY') as (typeof MODES)[number],
      approvalPolicy: 'ON_REQUEST' as (typeof POLICIES)[number],
    },
    validate: {
      workspacePath: (value) => (value === '' ? t('session.workspaceMissing') : null),
      model: (value) => (value.trim() === '' ? t('session.modelMissing') : null),
    },
    onValuesChange: () => (key.current = newKey()),
  });
  const folders = workspaces.data?.data ?? [];
  const { data: models } = useHarnessModels();
  const folder = single(folders.filter(({ kind }) => kind !== 'ROOT'))?.path;
  const model = single((models ?? []).filter(({ callsTools }) => callsTools))?.name;
  // A single possible choice is preselected unless the user has already chosen.
  useEffect(() => {
    const chosen = {
      workspacePath: form.values.workspacePath || (folder ?? ''),
      model: form.values.model || (model ?? ''),
    };
    form.setValues(chosen);
    form.resetDirty({ ...form.values, ...chosen });
    // `form` is omitted because it is new on every render.
  }, [folder, model]);
  return (
    <FormDrawer
      title={t('session.create')}
      form={form}
      action={t('session.create')}
      onClose={onClose}
      onSubmit={async ({ title, ...values }) => {
        const session = await plinth.harnessSessionCreate({
          body: {
            ...values,
            idempotencyKey: key.current,
            ...(title.trim() !== '' && { title: title.trim() }),
          },
        });
        void queries.invalidateQueries({ queryKey: ['harness-sessions'] });
        onCreated(session);
      }}
    >
      {workspaces.error && (
        <Failure error={workspaces.error} onRetry={() => void workspaces.refetch()} />
      )}
      <Select
        label={t('session.workspace')}
        description={t('session.workspaceHint')}
        data={folders.map(({ path, name, kind }) => ({
          value: path,
          label: kind === 'ROOT' ? path : name,
        }))}
        searchable
        required
        allowDeselect={false}
        openOnFocus={false}
        nothingFoundMessage={t('session.noWorkspace')}
        data-autofocus
        {...form.getInputProps('workspacePath')}
      />
      <TextInput
        label={t('session.title')}
        description={t('session.titleHint')}
        maxLength={200}
        {...form.getInputProps('title')}
      />
      <ModelSelect
        label={t('session.model')}
        description={t('session.modelHint')}
        required
        value={form.values.model}
        error={form.errors['model']}
        onChange={(model) => form.setFieldValue('model', model)}
      />
      <Radio.Group label={t('session.mode')} {...form.getInputProps('permissionMode')}>
        <Stack gap="xs" mt={6}>
          {MODES.map((mode) => (
            <Radio
              key={mode}
              value={mode}
              label={t(`mode.${mode}`)}
              description={t(`modeHint.${mode}`)}
              disabled={mode !== 'READ_ONLY' && !mayWrite}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Radio.Group label={t('session.policy')} {...form.getInputProps('approvalPolicy')}>
        <Stack gap="xs" mt={6}>
          {POLICIES.map((policy) => (
            <Radio
              key={policy}
              value={policy}
              label={t(`policy.${policy}`)}
              description={t(`policyHint.${policy}`)}
            />
          ))}
        </Stack>
      </Radio.Group>
    </FormDrawer>
  );
}

function single<T>(list: readonly T[]): T | undefined {
  return list.length === 1 ? list[0] : undefined;
}
