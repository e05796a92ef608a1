/** The header of a bearer key; none for a blank one, since an empty token makes some gateways answer 401 that need no key at all. */
export function bearerOf(credential: string | undefined): Record<string, string> {
  const key = credential?.trim() ?? '';
  return key === '' ? {} : { authorization: `Bearer ${key}` };
}
