import { Button, Code, Group, Stack, Text, TextInput } from '@mantine/core';
import { modals } from '@mantine/modals';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';

interface Destruction {
  readonly title: string;
  /** Names what is destroyed, including dependent data. */
  readonly body: ReactNode;
  /** Button label: a verb with its object, such as "Delete model". */
  readonly action: string;
  /** Text that the user must type to confirm a large deletion. */
  readonly name?: string;
  readonly run: () => Promise<unknown>;
}

/** Asks for confirmation before data is destroyed. */
export function confirmDestruction(destruction: Destruction): void {
  const id = modals.open({
    title: destruction.title,
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
      // The action has already reported the failure.
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
