import type { MediaType } from '../../provider/index.js';
import { ContentRefusedError } from './content.errors.js';

/** The two hosts that resources may come from, in the order of MEDIA_CONTENT_HOSTS. */
export type ContentHosts = readonly [imagesAndAudio: string, videos: string];

const DEFAULT_PORT = 443;

/** Host and port as they are written, before anything reads them: a host in any other spelling is none of ours. */
const PLAIN = /^https:\/\/(?<host>[a-z\d.-]+)(?::(?<port>\d+))?(?:[/?][^#\s\\]*)?$/i;

/**
 * The address of a resource, if it is one of the category's fixed host: https, without user name, password and
 * fragment, on the default port. Fails with ContentRefusedError, which does not repeat the address.
 */
export function contentAddress(
  address: string,
  type: MediaType,
  { hosts, port = DEFAULT_PORT }: { readonly hosts: ContentHosts; readonly port?: number },
): string {
  const [imagesAndAudio, videos] = hosts;
  const parts = PLAIN.exec(address)?.groups;
  if (!parts) {
    throw new ContentRefusedError(
      'The resource’s address is refused: it must be https, with a plain host name and without user name, fragment and white space.',
    );
  }
  if (Number(parts['port'] ?? DEFAULT_PORT) !== port) {
    throw new ContentRefusedError('The resource’s address is refused: its port must be 443.');
  }
  if (parts['host']?.toLowerCase() !== (type === 'video' ? videos : imagesAndAudio)) {
    throw new ContentRefusedError(
      `The resource’s address is refused: its host is not the one for category ${type}. An operator sets it with MEDIA_CONTENT_HOSTS.`,
    );
  }
  return address;
}
