import { Group, SegmentedControl, Select, Textarea } from '@mantine/core';
import { useLocalStorage } from '@mantine/hooks';
import { IconAdjustmentsHorizontal, IconSend } from '@tabler/icons-react';
import type { HarnessSessionView } from '@plinth/client';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { ActionButton, IconButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import styles from './harness.module.css';
import { newKey } from './key';
import { ModelSelect } from './model-select';

interface Props {
  readonly session: HarnessSessionView;
  /** The unfinished run that receives the input; without one, a new run is started. */
  readonly activeRunId: string | undefined;
}

const MODES = ['READ_ONLY', 'WORKSPACE_WRITE', 'FULL_ACCESS'] as const;
type Mode = (typeof MODES)[number];

/** Starts a run or sends input to the active one. Drafts survive a reload. */
export function Composer({ session, activeRunId }: Props) {
  const { t } = useTranslation('harness');
  const { sessionId } = session;
  const [text, setText, forget] = useLocalStorage({
    key: `plinth.harness.draft.${sessionId}`,
    defaultValue: '',
    getInitialValueInEffect: false,
  });
  const [kind, setKind] = useState<'STEER' | 'FOLLOW_UP'>('STEER');
  const [options, setOptions] = useState(false);
  const [model, setModel] = useState('');
  const [mode, setMode] = useState<Mode>();
  const navigate = useNavigate();
  const { may } = useMe();
  const changes = [
    ['harness', 'session', sessionId],
    ['harness', 'runs', sessionId],
  ];
  const start = useAction(
    () =>
      plinth.runCreate({
        path: { sessionId },
        body: {
          requirement: text,
          idempotencyKey: newKey(),
          ...(model !== '' && { model }),
          ...(mode && { permissionMode: mode }),
        },
      }),
    {
      changes,
      after: ({ runId }) => {
        forget();
        void navigate({ to: '/harness/$sessionId/$runId', params: { sessionId, runId } });
      },
    },
  );
  const say = useAction(
    (runId: string) =>
      plinth.runAddInput({
        path: { sessionId, runId },
        body: { kind, content: text, idempotencyKey: newKey() },
      }),
    { changes, after: () => forget() },
  );
  const busy = start.isPending || say.isPending;
  const isWriting = session.permissionMode !== 'READ_ONLY';
  const blockedReason = session.deletedAt
    ? t('composer.removed')
    : isWriting && !may('coding:harness:write')
      ? t('composer.readOnly')
      : undefined;
  const submit = (): void => {
    if (text.trim() === '' || busy || blockedReason) return;
    if (activeRunId) say.mutate(activeRunId);
    else start.mutate();
  };
  const label = t(activeRunId ? 'composer.say' : 'composer.requirement');
  return (
    <form
      className={styles['composer']}
      onSubmit={(event) => {
        event.preventDefault();
        submit();
      }}
    >
      <Textarea
        aria-label={label}
        placeholder={blockedReason ?? label}
        disabled={blockedReason !== undefined}
        value={text}
        minRows={1}
        maxRows={10}
        variant="unstyled"
        classNames={{ input: styles['composerInput'] ?? '' }}
        onChange={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
          event.preventDefault();
          submit();
        }}
      />
      {options && !activeRunId && (
        <Group gap="xs" px="sm" pb="xs">
          <ModelSelect
            label={t('composer.model')}
            placeholder={session.model}
            value={model}
            onChange={setModel}
          />
          <Select
            label={t('session.mode')}
            data={MODES.slice(0, MODES.indexOf(session.permissionMode) + 1).map((one) => ({
              value: one,
              label: t(`mode.${one}`),
            }))}
            value={mode ?? session.permissionMode}
            allowDeselect={false}
            onChange={(value) => setMode(value ?? undefined)}
          />
        </Group>
      )}
      <Group gap="xs" px="xs" pb="xs" justify="space-between">
        {activeRunId ? (
          <SegmentedControl
            size="xs"
            aria-label={t('composer.when')}
            value={kind}
            data={[
              { value: 'STEER', label: t('composer.steer') },
              { value: 'FOLLOW_UP', label: t('composer.followUp') },
            ]}
            onChange={(value) => setKind(value)}
          />
        ) : (
          <IconButton
            icon={IconAdjustmentsHorizontal}
            iconSize={18}
            label={t('composer.options')}
            aria-expanded={options}
            onClick={() => setOptions(!options)}
          />
        )}
        <ActionButton
          type="submit"
          loading={busy}
          disabled={text.trim() === '' || blockedReason !== undefined}
          icon={IconSend}
        >
          {t(activeRunId ? 'composer.send' : 'composer.start')}
        </ActionButton>
      </Group>
    </form>
  );
}
