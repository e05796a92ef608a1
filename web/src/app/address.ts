import { useNavigate, useSearch } from '@tanstack/react-router';

/** Parameters of the address. Filters, pages and tabs live there, so that a reload and a link show the same. */
export type Address = Readonly<Record<string, string | undefined>>;

export function parseAddress(text: string): Record<string, string> {
  return Object.fromEntries(new URLSearchParams(text));
}

export function addressText(address: Record<string, unknown>): string {
  const given = Object.entries(address).filter(([, value]) => value !== undefined && value !== '');
  const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return text === '' ? '' : `?${text}`;
}

/** The parameters of this page's address, and a function that changes some of them; undefined removes one. */
export function useAddress(): readonly [Address, (changes: Address) => void] {
  const address: Address = useSearch({ strict: false });
  const navigate = useNavigate();
  const change = (changes: Address): void => {
    void navigate({
      to: '.',
      search: (before: Address) => ({ ...before, ...changes }),
      replace: true,
    } as never);
  };
  return [address, change];
}
