import { ActionIcon, Tooltip } from '@mantine/core';
import { useClipboard } from '@mantine/hooks';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';

interface Props {
  readonly value: string;
  /** Accessible label, such as "Copy request id". */
  readonly label?: string;
}

export function CopyButton({ value, label }: Props) {
  const { t } = useTranslation('ui');
  const { copied, copy } = useClipboard({ timeout: 1_500 });
  const text = copied ? t('copied') : (label ?? t('copy'));
  return (
    <Tooltip label={text}>
      <ActionIcon size="sm" aria-label={text} onClick={() => copy(value)}>
        {copied ? <IconCheck size={14} stroke={1.5} /> : <IconCopy size={14} stroke={1.5} />}
      </ActionIcon>
    </Tooltip>
  );
}
