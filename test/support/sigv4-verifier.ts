import { createHash, createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';

interface SignedRequest {
  readonly method: string;
  /** Path and query as they were sent. */
  readonly target: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

interface AwsSecrets {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
}

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string): Buffer =>
  createHmac('sha256', key).update(text).digest();

/** RFC 3986, as AWS asks: all but unreserved characters, in upper case. */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/**
 * Verifies an AWS signature (version 4) by the steps that AWS's IAM user guide publishes: canonical request, string to sign,
 * derived key. Answers why it is refused, or undefined.
 */
export function sigV4Problem(
  { method, target, headers, body }: SignedRequest,
  { accessKeyId, secretAccessKey }: AwsSecrets,
  scope: { readonly region: string; readonly service: string },
): string | undefined {
  const fields =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/([^/]+)\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    );
  if (fields === null) return 'no signature';
  const [, id, day = '', region = '', service = '', signedNames = '', signature] = fields;
  const at = String(headers['x-amz-date']);
  if (id !== accessKeyId) return 'unknown access key';
  if (region !== scope.region || service !== scope.service) return `scope ${region}/${service}`;
  if (!at.startsWith(day)) return 'the days differ';
  const time = Date.parse(
    at.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'),
  );
  if (!(Math.abs(time - Date.now()) < 300_000)) return 'signed at another time';
  const names = signedNames.split(';');
  if (!names.includes('host') || !names.includes('x-amz-date')) return 'unsigned host or date';
  if (headers['x-amz-security-token'] !== undefined && !names.includes('x-amz-security-token')) {
    return 'unsigned session token';
  }
  const [path = '', query = ''] = target.split('?');
  const canonicalQuery = query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name = '', value = ''] = pair.split('=').map(decodeURIComponent);
      return `${encoded(name)}=${encoded(value)}`;
    })
    .toSorted()
    .join('&');
  const canonical = [
    method,
    path.split('/').map(encoded).join('/'),
    canonicalQuery,
    ...names.map((name) => `${name}:${String(headers[name]).trim().replaceAll(/ +/g, ' ')}`),
    '',
    signedNames,
    headers['x-amz-content-sha256'] ?? sha256(body),
  ].join('\n');
  const hash = headers['x-amz-content-sha256'];
  if (hash !== undefined && hash !== sha256(body)) return 'the body differs from its hash';
  const toSign = [
    'AWS4-HMAC-SHA256',
    at,
    `${day}/${region}/${service}/aws4_request`,
    sha256(canonical),
  ].join('\n');
  const key = [day, region, service, 'aws4_request'].reduce<string | Buffer>(
    (secret, part) => hmac(secret, part),
    `AWS4${secretAccessKey}`,
  );
  return hmac(key, toSign).toString('hex') === signature ? undefined : 'wrong signature';
}
