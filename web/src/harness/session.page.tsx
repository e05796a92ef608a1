import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function SessionPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.harness')}>{null}</Page>;
}
