import { Autocomplete } from '@mantine/core';
import { modelList, modelOptions } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useMe } from '../app/me';

interface Props {
  readonly label: string;
  readonly value: string;
  readonly onChange: (value: string) => void;
  readonly placeholder?: string;
  readonly description?: string;
  readonly error?: React.ReactNode;
  readonly required?: boolean;
}

/**
 * A chat model by its name. Models that are hidden from the chat, such as that of the demo, are offered to who may list
 * models; every user may type their names.
 */
export function ModelSelect({ onChange, ...props }: Props) {
  const { may } = useMe();
  const listed = may('system:model:list');
  const { data = [] } = useQuery({
    queryKey: ['harness', 'models', listed],
    queryFn: async ({ signal }) => {
      const [shown, all] = await Promise.all([
        modelOptions({ query: { category: 'chat' }, signal }),
        listed ? modelList({ query: { category: 'chat', pageSize: 200 }, signal }) : undefined,
      ]);
      const unfit = new Set(
        (all?.rows ?? []).filter((one) => one.supportsTools === false).map((one) => one.modelName),
      );
      const names = [...(all?.rows ?? []), ...shown.rows].map((one) => one.modelName);
      return [...new Set(names)].filter((name) => !unfit.has(name)).sort();
    },
    staleTime: 60_000,
  });
  return (
    <Autocomplete {...props} data={data} limit={20} onChange={onChange} openOnFocus clearable />
  );
}
