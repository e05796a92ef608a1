import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function ModelsPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.models')}>{null}</Page>;
}
