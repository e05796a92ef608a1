import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function UsersPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.users')}>{null}</Page>;
}
