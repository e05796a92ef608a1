import {
  Alert,
  Button,
  Checkbox,
  Group,
  JsonInput,
  MultiSelect,
  NumberInput,
  Radio,
  Select,
  Stack,
  Switch,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import { ApiError } from '@plinth/client';
import type { AgentView } from '@plinth/client';
import { IconMessage } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { isChangeable } from '../access/levels';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Failure, NotFound, PageSkeleton } from '../ui/states';
import { focusFirstInvalid, FormFailure, LeaveGuard, useRecordForm } from '../ui/form';
import { Page } from '../ui/page';
import styles from './agent.module.css';
import { ServerToolPicker, WebNote } from './server-tools';

const ALL = { pageSize: 1_000 } as const;

/** The page of an agent; `/agents/new` adds one. */
export default function AgentPage() {
  const { agentId = 'new' } = useParams({ strict: false });
  const isNew = agentId === 'new';
  const agent = useQuery({
    queryKey: ['agents', agentId],
    queryFn: ({ signal }) => plinth.agentGet({ path: { id: Number(agentId) }, signal }),
    enabled: !isNew,
  });
  const choices = useQuery({
    queryKey: ['agents', 'choices'],
    queryFn: ({ signal }) => readChoices(signal),
  });
  const error = agent.error ?? choices.error;
  if (error instanceof ApiError && error.code === 404) return <NotFound />;
  const ready = choices.data && (isNew || agent.data);
  if (error && !ready) {
    const retry = (): void => void Promise.all([agent.refetch(), choices.refetch()]);
    return <Failure error={error} onRetry={retry} />;
  }
  if (!ready) return <PageSkeleton />;
  return <AgentForm key={agentId} agent={agent.data} choices={choices.data} />;
}

type Choices = Awaited<ReturnType<typeof readChoices>>;

/** Models and bases that can be assigned. Without permission to list them, the agent keeps those it has. */
async function readChoices(signal: AbortSignal) {
  const none = { rows: [], total: 0 };
  const orNone = (error: unknown): typeof none => {
    if (error instanceof ApiError && error.code === 403) return none;
    throw error;
  };
  const [models, bases, tools, serverTools, skills, runtimes] = await Promise.all([
    plinth.modelList({ query: { ...ALL, category: 'chat' }, signal }).catch(orNone),
    plinth.knowledgeList({ query: ALL, signal }).catch(orNone),
    plinth.agentToolOptions({ signal }),
    plinth.mcpToolList({ signal }),
    plinth.agentSkillOptions({ signal }),
    plinth.agentRuntimeOptions({ signal }),
  ]);
  return { models: models.rows, bases: bases.rows, tools, serverTools, skills, runtimes };
}

type OptionalNumber = number | '';
const orEmpty = (value: number | null | undefined): OptionalNumber => value ?? '';

function initialValues(agent: AgentView | undefined) {
  return {
    revision: agent?.revision,
    agentName: agent?.agentName ?? '',
    agentDescribe: agent?.agentDescribe ?? '',
    modelId: agent ? String(agent.modelId) : '',
    systemPrompt: agent?.systemPrompt ?? '',
    enableThinking: agent?.enableThinking === '1',
    knowledgeIds: agent?.knowledgeIds.map(String) ?? [],
    knowledgeAs: agent?.knowledgeAs ?? ('caller' as const),
    runtime: agent?.runtime ?? 'direct',
    tools: [...(agent?.tools ?? [])],
    mcpToolIds: agent?.mcpToolIds.map(String) ?? [],
    useSkills: agent?.useSkills ?? false,
    skillNames: [...(agent?.skillNames ?? [])],
    maxSteps: orEmpty(agent?.maxSteps),
    temperature: orEmpty(agent?.temperature),
    topP: orEmpty(agent?.topP),
    maxTokens: orEmpty(agent?.maxTokens),
    filter: jsonText(agent?.filter),
    responseFormat: jsonText(agent?.responseFormat),
    enabled: (agent?.status ?? '0') === '0',
    remark: agent?.remark ?? '',
  };
}

function jsonText(value: unknown): string {
  return value == null ? '' : JSON.stringify(value, null, 2);
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** An empty text clears the field; the service accepts only JSON objects. */
function objectOf(text: string): Record<string, unknown> | '' {
  return text.trim() === '' ? '' : (JSON.parse(text) as Record<string, unknown>);
}

interface FormProps {
  readonly agent: AgentView | undefined;
  readonly choices: Choices;
}

function AgentForm({ agent, choices }: FormProps) {
  const { t } = useTranslation('agent');
  const { may } = useMe();
  const navigate = useNavigate();
  const [failure, setFailure] = useState<unknown>();
  const mayEdit = may(agent ? 'agent:agent:edit' : 'agent:agent:add');
  const isGranted = !agent || isChangeable(agent.level);
  const canEdit = mayEdit && isGranted;
  const json = (value: string): string | null =>
    value.trim() === '' || isJson(value) ? null : t('jsonBroken');
  const form = useForm({
    initialValues: initialValues(agent),
    validate: {
      agentName: (value) => (value.trim() === '' ? t('nameMissing') : null),
      modelId: (value) => (value === '' ? t('modelMissing') : null),
      filter: json,
      responseFormat: json,
    },
  });
  useRecordForm(form, initialValues(agent));
  const { runtime, useSkills } = form.values;
  const usesTools = choices.runtimes.find(({ code }) => code === runtime)?.usesTools ?? false;
  const save = useAction(
    async ({ enabled, enableThinking, filter, responseFormat, ...values }: typeof form.values) => {
      const body = {
        ...values,
        modelId: Number(values.modelId),
        knowledgeIds: values.knowledgeIds.map(Number),
        mcpToolIds: values.mcpToolIds.map(Number),
        enableThinking: enableThinking ? ('1' as const) : ('0' as const),
        status: enabled ? ('0' as const) : ('1' as const),
        filter: objectOf(filter),
        responseFormat: objectOf(responseFormat),
      };
      if (!agent) return (await plinth.agentCreate({ body })).id;
      await plinth.agentUpdate({ body: { id: agent.id, ...body } });
      return agent.id;
    },
    {
      done: t('saved'),
      changes: [['agents'], ['home']],
      onFailure: setFailure,
      after: (id) => {
        form.resetDirty();
        if (agent) return;
        void navigate({
          to: '/agents/$agentId',
          params: { agentId: String(id) },
          replace: true,
          ignoreBlocker: true,
        });
      },
    },
  );
  const modelChoices = choices.models.map((model) => ({
    value: String(model.id),
    label: model.modelDescribe || model.modelName,
  }));
  const isUnlisted = agent && !modelChoices.some(({ value }) => value === String(agent.modelId));
  const unreadableBases = (agent?.unreadableKnowledgeIds ?? []).map(
    (id) => agent?.knowledgeNames[agent.knowledgeIds.indexOf(id)] ?? String(id),
  );
  const baseChoices = new Map([
    ...(agent?.knowledgeIds.map((id, place): [string, string] => [
      String(id),
      agent.knowledgeNames[place] ?? String(id),
    ]) ?? []),
    ...choices.bases.map(({ id, name }): [string, string] => [String(id), name]),
  ]);
  return (
    <Page
      title={agent?.agentName ?? t('add')}
      width="reading"
      above={[{ title: t('title'), path: '/agents' }]}
      actions={
        agent && (
          <LinkButton
            variant="default"
            icon={IconMessage}
            to="/chat"
            search={{ agent: String(agent.id) }}
          >
            {t('chat')}
          </LinkButton>
        )
      }
    >
      <LeaveGuard form={form} dirty={form.isDirty()} />
      {!canEdit && (
        <Alert mb="md" color="gray">
          {t(mayEdit ? 'readOnlyGrant' : 'readOnly')}
        </Alert>
      )}
      {unreadableBases.length > 0 && (
        <Alert mb="md" color="yellow">
          {t('lost', { names: unreadableBases.join(', ') })}
        </Alert>
      )}
      <form
        onSubmit={form.onSubmit((values) => {
          setFailure(undefined);
          save.mutate(values);
        }, focusFirstInvalid)}
        noValidate
      >
        <fieldset disabled={!canEdit} className={styles['fieldset']}>
          <Stack gap="xl">
            <Stack>
              <TextInput label={t('name')} withAsterisk {...form.getInputProps('agentName')} />
              <TextInput
                label={t('description')}
                description={t('descriptionHelp')}
                {...form.getInputProps('agentDescribe')}
              />
              <Select
                label={t('model')}
                withAsterisk
                searchable
                allowDeselect={false}
                disabled={!canEdit}
                nothingFoundMessage={t('noModel')}
                data={[
                  ...modelChoices,
                  ...(isUnlisted
                    ? [{ value: String(agent.modelId), label: agent.modelName ?? t('modelGone') }]
                    : []),
                ]}
                {...form.getInputProps('modelId')}
              />
              <Textarea
                label={t('prompt')}
                description={t('promptHelp')}
                minRows={4}
                maxRows={20}
                {...form.getInputProps('systemPrompt')}
              />
            </Stack>

            <Stack>
              <Title order={2}>{t('sections.knowledge')}</Title>
              <MultiSelect
                label={t('knowledge')}
                description={t('knowledgeHelp')}
                data={[...baseChoices].map(([value, label]) => ({ value, label }))}
                searchable
                clearable
                disabled={!canEdit}
                maxValues={20}
                nothingFoundMessage={t('noBase')}
                {...form.getInputProps('knowledgeIds')}
              />
              <Radio.Group label={t('knowledgeAs.label')} {...form.getInputProps('knowledgeAs')}>
                <Stack gap="xs" mt="xs">
                  {(['caller', 'creator'] as const).map((one) => (
                    <Radio
                      key={one}
                      value={one}
                      label={t(`knowledgeAs.${one}`)}
                      description={t(`knowledgeAs.${one}Help`)}
                    />
                  ))}
                </Stack>
              </Radio.Group>
              <JsonInput
                label={t('filter')}
                description={t('filterHelp')}
                autosize
                minRows={2}
                formatOnBlur
                placeholder={'{ "key": "department", "op": "eq", "value": "sales" }'}
                classNames={{ input: styles['code'] ?? '' }}
                {...form.getInputProps('filter')}
              />
            </Stack>

            <Stack>
              <Title order={2}>{t('sections.tools')}</Title>
              <Radio.Group label={t('runtime.label')} {...form.getInputProps('runtime')}>
                <Stack gap="xs" mt="xs">
                  {choices.runtimes.map(({ code, description }) => (
                    <Radio
                      key={code}
                      value={code}
                      label={runtimeName(code) ?? code}
                      description={runtimeAbout(code) ?? description}
                    />
                  ))}
                </Stack>
              </Radio.Group>
              {usesTools && (
                <>
                  <Checkbox.Group label={t('tools')} {...form.getInputProps('tools')}>
                    <Stack gap="xs" mt="xs">
                      {choices.tools.map(({ name, description }) => (
                        <Checkbox
                          key={name}
                          value={name}
                          label={name}
                          description={firstSentence(description)}
                        />
                      ))}
                    </Stack>
                  </Checkbox.Group>
                  <WebNote tools={choices.tools} chosen={form.values.tools} />
                  <ServerToolPicker
                    agent={agent}
                    tools={choices.serverTools}
                    disabled={!canEdit}
                    {...form.getInputProps('mcpToolIds')}
                  />
                  <Switch
                    label={t('useSkills')}
                    {...form.getInputProps('useSkills', { type: 'checkbox' })}
                  />
                  {useSkills && (
                    <Checkbox.Group label={t('skills')} {...form.getInputProps('skillNames')}>
                      <Stack gap="xs" mt="xs">
                        {choices.skills.map(({ name, description }) => (
                          <Checkbox
                            key={name}
                            value={name}
                            label={name}
                            description={firstSentence(description)}
                          />
                        ))}
                      </Stack>
                    </Checkbox.Group>
                  )}
                  <NumberInput
                    label={t('maxSteps')}
                    description={t('maxStepsHelp')}
                    min={1}
                    max={100}
                    allowDecimal={false}
                    {...form.getInputProps('maxSteps')}
                  />
                </>
              )}
            </Stack>

            <Stack>
              <Title order={2}>{t('sections.answer')}</Title>
              <Switch
                label={t('thinking')}
                {...form.getInputProps('enableThinking', { type: 'checkbox' })}
              />
              <div className={styles['columns']}>
                <NumberInput
                  label={t('temperature')}
                  description={t('defaultOfModel')}
                  min={0}
                  max={2}
                  step={0.1}
                  {...form.getInputProps('temperature')}
                />
                <NumberInput
                  label={t('topP')}
                  description={t('defaultOfModel')}
                  min={0}
                  max={1}
                  step={0.05}
                  {...form.getInputProps('topP')}
                />
                <NumberInput
                  label={t('maxTokens')}
                  description={t('defaultOfModel')}
                  min={1}
                  allowDecimal={false}
                  thousandSeparator
                  {...form.getInputProps('maxTokens')}
                />
              </div>
              <JsonInput
                label={t('responseFormat')}
                description={t('responseFormatHelp')}
                autosize
                minRows={2}
                maxRows={20}
                formatOnBlur
                classNames={{ input: styles['code'] ?? '' }}
                {...form.getInputProps('responseFormat')}
              />
            </Stack>

            <Stack>
              <Textarea label={t('remark')} {...form.getInputProps('remark')} />
              <Switch
                label={t('enabledHelp')}
                {...form.getInputProps('enabled', { type: 'checkbox' })}
              />
            </Stack>

            {failure !== undefined && (
              <FormFailure
                error={failure}
                edited={{ form, valuesOf: initialValues, onDone: () => setFailure(undefined) }}
              />
            )}
            {canEdit && (
              <Group justify="flex-end">
                <Button type="submit" loading={save.isPending}>
                  {t('save')}
                </Button>
              </Group>
            )}
          </Stack>
        </fieldset>
      </form>
      {Object.keys(form.errors).length > 0 && (
        <Text size="sm" c="red" ta="right" mt="xs" role="alert">
          {t('checkFields')}
        </Text>
      )}
    </Page>
  );

  function runtimeName(code: string): string | undefined {
    if (code === 'direct') return t('runtime.direct.name');
    return code === 'tools' ? t('runtime.tools.name') : undefined;
  }

  function runtimeAbout(code: string): string | undefined {
    if (code === 'direct') return t('runtime.direct.about');
    return code === 'tools' ? t('runtime.tools.about') : undefined;
  }
}

/** Shortens a description to its first sentence, because descriptions are written for models. */
function firstSentence(text: string): string {
  return /^.*?[.。](?=\s|$)/.exec(text)?.[0] ?? text;
}
