import { Autocomplete } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { plinth } from '../app/plinth';
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

interface HarnessModel {
  readonly name: string;
  /** Whether the model is known to support tool calls. */
  readonly callsTools: boolean;
}

/**
 * Query of the chat models for runs, those with known tool support first. Users who may list models also get models that
 * are hidden from the chat, such as the demo model.
 */
export function useHarnessModels() {
  const { may } = useMe();
  const listed = may('system:model:list');
  return useQuery({
    queryKey: ['harness', 'models', listed],
    queryFn: async ({ signal }) => {
      const [visible, all] = await Promise.all([
        plinth.modelOptions({ query: { category: 'chat' }, signal }),
        listed
          ? plinth.modelList({ query: { category: 'chat', pageSize: 200 }, signal })
          : undefined,
      ]);
      const tools = new Map((all?.rows ?? []).map((one) => [one.modelName, one.supportsTools]));
      const names = [...tools.keys(), ...visible.rows.map(({ modelName }) => modelName)];
      return [...new Set(names)]
        .filter((name) => tools.get(name) !== false)
        .map((name): HarnessModel => ({ name, callsTools: tools.get(name) === true }))
        .sort((a, b) => Number(b.callsTools) - Number(a.callsTools) || (a.name < b.name ? -1 : 1));
    },
    staleTime: 60_000,
  });
}

/** Selects a chat model by name. Names of models that are not listed can be typed. */
export function ModelSelect({ onChange, ...props }: Props) {
  const { data = [] } = useHarnessModels();
  return (
    <Autocomplete
      {...props}
      data={data.map(({ name }) => name)}
      limit={20}
      onChange={onChange}
      openOnFocus
      clearable
    />
  );
}
