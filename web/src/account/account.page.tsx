import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function AccountPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.account')}>{null}</Page>;
}
