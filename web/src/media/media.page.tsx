import {
  Button,
  Group,
  NumberInput,
  SegmentedControl,
  Stack,
  Text,
  Textarea,
  TextInput,
  Title,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { TaskView } from '@plinth/client';
import { IconPhoto } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { useAction } from '../ui/action';
import { Empty } from '../ui/states';
import { Page } from '../ui/page';
import { ModelPicker } from '../ui/pickers';
import { Time } from '../ui/time';
import { focusFirstInvalid } from '../ui/form';
import styles from './media.module.css';
import { RecordCard } from './record-card';
import { KINDS } from './task';
import type { Kind, MediaRequest } from './task';
import { useMedia } from './use-media';

/** The image, speech and video workspace. */
export default function MediaPage() {
  const { t } = useTranslation('media');
  const [address, change] = useSearchParams();
  const kind = KINDS.find((one) => one === address['kind']) ?? 'image';
  const media = useMedia();
  const { data: models } = useQuery({
    queryKey: ['models', 'choices', kind],
    queryFn: ({ signal }) =>
      plinth.modelOptions({ query: { category: kind, pageSize: 1_000 }, signal }),
    staleTime: 30_000,
  });
  const providerOf = (model: string): string =>
    models?.rows.find(({ modelName }) => modelName === model)?.providerCode ?? '';
  return (
    <Page title={t('title')} description={t('about')}>
      <div className={styles['workspace']}>
        <Stack>
          <SegmentedControl
            fullWidth
            aria-label={t('kind')}
            data={KINDS.map((value) => ({ value, label: t(`kinds.${value}`) }))}
            value={kind}
            onChange={(value) => change({ kind: value === 'image' ? undefined : value })}
          />
          <RequestForm
            key={kind}
            kind={kind}
            firstModel={models?.rows[0]?.modelName}
            busy={media.current !== undefined}
            onSubmit={(request) => media.submit(request, providerOf(request.body.model))}
          />
          <EarlierTasks
            onFollow={({ kind: ofTask, model, taskId, excerpt }) =>
              media.follow(
                { kind: ofTask, model, providerCode: providerOf(model), id: taskId },
                excerpt,
              )
            }
            kind={kind}
            busy={media.current !== undefined}
          />
        </Stack>
        <section aria-label={t('results')} className={styles['results']}>
          {media.records.length === 0 && (
            <Empty icon={IconPhoto} title={t('empty')}>
              {t('emptyHint')}
            </Empty>
          )}
          {media.records.map((record) => (
            <RecordCard
              key={record.key}
              record={record}
              busy={media.current !== undefined}
              onPause={media.pause}
              onResume={() => media.resume(record)}
            />
          ))}
        </section>
      </div>
    </Page>
  );
}

interface FormProps {
  readonly kind: Kind;
  readonly firstModel: string | undefined;
  /** Whether a task is running; only one can run at a time. */
  readonly busy: boolean;
  readonly onSubmit: (request: MediaRequest) => void;
}

function RequestForm({ kind, firstModel, busy, onSubmit }: FormProps) {
  const { t } = useTranslation('media');
  const form = useForm({
    initialValues: {
      model: '',
      prompt: '',
      size: '',
      seed: '' as number | '',
      voice: '',
      responseFormat: '',
      speed: '' as number | '',
      instructions: '',
      seconds: '' as number | '',
      quality: '',
    },
    validate: {
      prompt: (value) => (value.trim() === '' ? t(`promptMissing.${kind}`) : null),
    },
  });
  const model = form.values.model || (firstModel ?? '');
  const submit = form.onSubmit((values) => {
    const { prompt, size, seed, voice, responseFormat, speed, instructions, seconds, quality } =
      values;
    if (kind === 'image')
      onSubmit({ kind, body: { model, prompt, ...withoutEmpty({ size, seed }) } });
    else if (kind === 'audio') {
      const options = withoutEmpty({ voice, responseFormat, speed, instructions });
      onSubmit({ kind, body: { model, input: prompt, ...options } });
    } else onSubmit({ kind, body: { model, prompt, ...withoutEmpty({ size, seconds, quality }) } });
  }, focusFirstInvalid);
  return (
    <form onSubmit={submit} noValidate>
      <Stack>
        <ModelPicker
          category={kind}
          label={t('model')}
          value={model}
          onChange={(value) => form.setFieldValue('model', value)}
        />
        <Textarea
          label={t(`prompt.${kind}`)}
          minRows={4}
          maxRows={14}
          {...form.getInputProps('prompt')}
        />
        <div className={styles['options']}>
          {kind !== 'audio' && (
            <TextInput
              label={t('size')}
              placeholder={kind === 'image' ? '1024x1024' : '1280x720'}
              {...form.getInputProps('size')}
            />
          )}
          {kind === 'image' && (
            <NumberInput
              label={t('seed')}
              min={0}
              max={2_147_483_647}
              allowDecimal={false}
              hideControls
              {...form.getInputProps('seed')}
            />
          )}
          {kind === 'audio' && (
            <>
              <TextInput label={t('voice')} {...form.getInputProps('voice')} />
              <TextInput
                label={t('format')}
                placeholder="mp3"
                {...form.getInputProps('responseFormat')}
              />
              <NumberInput
                label={t('speed')}
                min={0.25}
                max={4}
                step={0.25}
                {...form.getInputProps('speed')}
              />
              <TextInput label={t('instructions')} {...form.getInputProps('instructions')} />
            </>
          )}
          {kind === 'video' && (
            <>
              <NumberInput
                label={t('seconds')}
                min={1}
                max={3_600}
                allowDecimal={false}
                {...form.getInputProps('seconds')}
              />
              <TextInput label={t('quality')} {...form.getInputProps('quality')} />
            </>
          )}
        </div>
        <Button type="submit" disabled={busy || model === ''}>
          {t(`make.${kind}`)}
        </Button>
        {busy && (
          <Text size="sm" c="dimmed">
            {t('oneAtATime')}
          </Text>
        )}
      </Stack>
    </form>
  );
}

/** Removes empty fields, so that the provider's defaults apply. */
function withoutEmpty<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], ''> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== '')) as never;
}

interface EarlierProps {
  readonly kind: Kind;
  readonly busy: boolean;
  readonly onFollow: (task: TaskView) => void;
}

/** The user's tasks recorded by the service, so that they survive a reload and appear on other devices. */
function EarlierTasks({ kind, busy, onFollow }: EarlierProps) {
  const { t } = useTranslation('media');
  const [isOpen, setIsOpen] = useState(false);
  const { data } = useQuery({
    queryKey: ['media', 'tasks', kind],
    queryFn: ({ signal }) => plinth.mediaTaskList({ query: { kind, pageSize: 10 }, signal }),
  });
  const remove = useAction(
    (id: number) => plinth.mediaTaskRemove({ path: { ids: [String(id)] } }),
    {
      changes: [['media', 'tasks']],
    },
  );
  const tasks = data?.rows ?? [];
  if (tasks.length === 0) return null;
  return (
    <section aria-labelledby="earlier">
      <Group justify="space-between">
        <Title order={2} id="earlier">
          {t('earlier.title')}
        </Title>
        <Button
          variant="subtle"
          color="gray"
          size="compact-sm"
          aria-expanded={isOpen}
          onClick={() => setIsOpen(!isOpen)}
        >
          {t(isOpen ? 'earlier.hide' : 'earlier.show', { count: tasks.length })}
        </Button>
      </Group>
      {isOpen && (
        <ul className={styles['tasks']}>
          {tasks.map((task) => (
            <li key={task.id}>
              <Text size="sm" lineClamp={2}>
                {task.excerpt}
              </Text>
              <Group gap="xs">
                <Text size="xs" c="dimmed">
                  {task.status ?? '–'}
                </Text>
                <Time value={task.createTime} size="xs" />
                <Button
                  variant="default"
                  size="compact-xs"
                  disabled={busy}
                  onClick={() => onFollow(task)}
                >
                  {t('earlier.lookUp')}
                </Button>
                <Button
                  variant="subtle"
                  color="gray"
                  size="compact-xs"
                  onClick={() => remove.mutate(task.id)}
                >
                  {t('earlier.remove')}
                </Button>
              </Group>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
