import { useNavigate, useSearch } from '@tanstack/react-router';

/** URL search parameters. Filters, pages and tabs are stored there, so that reloads and links show the same view. */
export type SearchParams = Readonly<Record<string, string | undefined>>;

export function parseSearchParams(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function addressText(address: Record<string, unknown>): string {
  const entries = Object.entries(address).filter(
    ([, value]) => value !== undefined && value !== '',
  );
  const text = new URLSearchParams(entries.map(([key, value]) => [key, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** The search parameters of this page and a function that updates some of them; undefined removes a parameter. */
export function useSearchParams(): readonly [SearchParams, (changes: SearchParams) => void] {
  const address: SearchParams = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (changes: SearchParams): void => {
    void navigate({
      to: '.',
      search: (before: SearchParams) => ({ ...before, ...changes }),
      replace: true,
    } as never);
  };
  return [address, change];
}
