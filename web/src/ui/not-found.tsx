import { IconMapPinOff } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { LinkButton } from './buttons';
import { Empty } from './empty';

export function NotFound() {
  const { t } = useTranslation('ui');
  return (
    <Empty
      icon={IconMapPinOff}
      title={t('notFound')}
      action={
        <LinkButton variant="default" to="/">
          {t('toHome')}
        </LinkButton>
      }
    >
      {t('notFoundHint')}
    </Empty>
  );
}
