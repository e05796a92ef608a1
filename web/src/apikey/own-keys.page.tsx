import { Keys } from './keys-list';

/** The page of the user's own API keys. */
export default function OwnKeysPage() {
  return <Keys scope="own" />;
}
