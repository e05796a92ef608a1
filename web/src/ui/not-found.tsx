import { Button } from '@mantine/core';
import { IconMapPinOff } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { Empty } from './empty';

export function NotFound() {
  const { t } = useTranslation('ui');
  return (
    <Empty
      icon={IconMapPinOff}
      title={t('notFound')}
      action={
        <Button variant="default" renderRoot={(props) => <Link to="/" {...props} />}>
          {t('toHome')}
        </Button>
      }
    >
      {t('notFoundHint')}
    </Empty>
  );
}
