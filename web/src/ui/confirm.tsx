import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { modals } from '@mantine/modals';
import i18next from 'i18next';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

interface Destruction {
  readonly title: string;
  /** Names what is destroyed, and what else goes with it. */
  readonly body: ReactNode;
  /** A verb with its object: "Delete model". */
  readonly action: string;
  /** Asked to be typed, where much is destroyed. */
  readonly name?: string;
  readonly run: () => Promise<unknown>;
}

/** Asks before something is destroyed. */
export function confirmDestruction(destruction: Destruction): void {
  const id = modals.open({
    title: destruction.title,
    closeButtonProps: { 'aria-label': i18next.t('ui:close') },
    children: <Confirmation {...destruction} onClose={() => modals.close(id)} />,
  });
}

function Confirmation({
  body,
  action,
  name,
  run,
  onClose,
}: Destruction & { readonly onClose: () => void }) {
  const { t } = useTranslation('ui');
  const [typed, setTyped] = useState('');
  const [running, setRunning] = useState(false);
  const confirm = async (): Promise<void> => {
    setRunning(true);
    try {
      await run();
      onClose();
    } catch {
      // The action itself has said why.
      setRunning(false);
    }
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        void confirm();
      }}
    >
      <Stack>
        <Text component="div">{body}</Text>
        {name !== undefined && (
          <TextInput
            label={
              <>
                {t('typeName')} <Code>{name}</Code>
              </>
            }
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            autoComplete="off"
            data-autofocus
          />
        )}
        <Group justify="flex-end">
          <Button variant="default" onClick={onClose}>
            {t('cancel')}
          </Button>
          <Button
            type="submit"
            color="red"
            loading={running}
            disabled={name !== undefined && typed !== name}
          >
            {action}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
