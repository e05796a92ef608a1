import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function MediaPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.media')}>{null}</Page>;
}
