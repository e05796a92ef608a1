import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function BasePage() {
  const { t } = useTranslation();
  return <Page title={t('pages.knowledge')}>{null}</Page>;
}
