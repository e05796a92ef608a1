import { Select } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import type { OfferedModelView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { messageOf } from '../ui/states';
import { booleanText, tierValues } from './values';
import type { ModelValues } from './values';

interface Props {
  readonly form: UseFormReturnType<ModelValues>;
  readonly providerId: number;
}

/** Values that a choice fills in if the form's fields are empty. */
const FACTS = [
  'contextWindow',
  'maxOutput',
  'inputPrice',
  'outputPrice',
  'cachedInputPrice',
  'cacheWritePrice',
  'cacheWriteHourPrice',
  'audioInputPrice',
  'audioOutputPrice',
  'webSearchPrice',
  'codeRunPrice',
] as const;

/** The models that the service of the provider offers. Choosing one fills in its id and, where the form is empty, what is known of it. */
export function OfferedModels({ form, providerId }: Props) {
  const { t } = useTranslation('model');
  const offered = useQuery({
    queryKey: ['models', 'offered', providerId],
    queryFn: ({ signal }) => plinth.offeredModelsList({ path: { id: providerId }, signal }),
    staleTime: 60_000,
    retry: false,
  });
  const { category, modelName } = form.values;
  // Models without a category at the service are offered in every category.
  const models = (offered.data?.models ?? []).filter(
    (model) => model.category === null || model.category === category,
  );
  const choose = (id: string | null): void => {
    const model = models.find((one) => one.id === id);
    if (model) form.setValues(filledIn(model, form.values));
  };
  const none = offered.error
    ? messageOf(offered.error)
    : (offered.data?.reason ?? (offered.data && t('offeredNone')));
  return (
    <Select
      label={t('offered')}
      description={models.length === 0 && none ? none : t('offeredHelp')}
      placeholder={offered.isLoading ? t('offeredLoading') : undefined}
      searchable
      limit={100}
      disabled={models.length === 0}
      data={models.map(({ id, label }) => ({
        value: id,
        label: label === id ? id : `${label} (${id})`,
      }))}
      value={models.some(({ id }) => id === modelName) ? modelName : null}
      onChange={choose}
    />
  );
}

function filledIn(model: OfferedModelView, values: ModelValues): Partial<ModelValues> {
  const facts = FACTS.filter((fact) => values[fact] === '' && model[fact] !== null);
  const hasPrices = facts.includes('inputPrice');
  return {
    modelName: model.id,
    ...Object.fromEntries(facts.map((fact) => [fact, model[fact]])),
    ...(hasPrices && {
      contextTiers: model.contextTiers.map(tierValues),
      priceSource: model.priceSource ?? '',
      // Published prices are in US dollars.
      currency: 'USD',
    }),
    ...(values.supportsTools === 'unknown' && { supportsTools: booleanText(model.supportsTools) }),
    ...(values.supportsVision === 'unknown' && {
      supportsVision: booleanText(model.supportsVision),
    }),
  };
}
