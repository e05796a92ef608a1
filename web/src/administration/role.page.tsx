import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function RolePage() {
  const { t } = useTranslation();
  return <Page title={t('pages.roles')}>{null}</Page>;
}
