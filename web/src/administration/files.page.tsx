import { useTranslation } from 'react-i18next';
import { Page } from '../ui/page';

export default function FilesPage() {
  const { t } = useTranslation();
  return <Page title={t('pages.files')}>{null}</Page>;
}
