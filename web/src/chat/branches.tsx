import { Group, Text } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { IconButton } from '../ui/buttons';
import { useActions } from './actions';

interface Props {
  readonly id: string;
  readonly siblings: readonly string[];
}

/** Shows "2 / 3" with buttons for the previous and next version. */
export function Branches({ id, siblings }: Props) {
  const { t } = useTranslation('chat');
  const { choose, isBusy } = useActions();
  if (siblings.length < 2) return null;
  const place = siblings.indexOf(id);
  const step = (by: -1 | 1, label: string, Icon: typeof IconChevronLeft) => {
    const other = siblings[place + by];
    return (
      <IconButton
        icon={Icon}
        label={label}
        size="sm"
        disabled={isBusy || other === undefined}
        onClick={() => other !== undefined && choose(other)}
      />
    );
  };
  return (
    <Group gap={0} wrap="nowrap" role="group" aria-label={t('branch.title')}>
      {step(-1, t('branch.before'), IconChevronLeft)}
      <Text
        size="xs"
        c="dimmed"
        component="span"
        aria-label={t('branch.place', { place: place + 1, count: siblings.length })}
      >
        {place + 1} / {siblings.length}
      </Text>
      {step(1, t('branch.after'), IconChevronRight)}
    </Group>
  );
}
