import { generateKeyPairSync, sign } from 'node:crypto';

export interface Certificate {
  /** In PEM; a client that trusts it needs no other authority. */
  readonly cert: string;
  readonly key: string;
}

const SEQUENCE = 0x30;
const SET = 0x31;
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2';
const COMMON_NAME = '2.5.4.3';
const SUBJECT_ALTERNATIVE_NAME = '2.5.29.17';

/** Makes a certificate for the host names (RFC 5280), signed by itself and valid for a day. */
export function certificateFor(hosts: readonly string[]): Certificate {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const algorithm = der(SEQUENCE, objectId(ECDSA_WITH_SHA256));
  const name = der(SEQUENCE, der(SET, der(SEQUENCE, objectId(COMMON_NAME), text(0x0c, 'test'))));
  const names = der(SEQUENCE, ...hosts.map((host) => text(0x82, host)));
  const extension = der(SEQUENCE, objectId(SUBJECT_ALTERNATIVE_NAME), der(0x04, names));
  const body = der(
    SEQUENCE,
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(SEQUENCE, time(-1), time(1)),
    name,
    publicKey.export({ type: 'spki', format: 'der' }),
    der(0xa3, der(SEQUENCE, extension)),
  );
  const signature = sign('sha256', body, privateKey);
  const whole = der(SEQUENCE, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = whole.toString('base64').replace(/.{64}/g, '$&\n');
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
  };
}

/** One value of the distinguished encoding rules (X.690): tag, length, content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const size = content.length;
  const length = size < 0x80 ? [size] : size < 0x100 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
}

function text(tag: number, value: string): Buffer {
  return der(tag, Buffer.from(value));
}

function time(daysFromNow: number): Buffer {
  const date = new Date(Date.now() + daysFromNow * 86_400_000);
  return text(0x18, `${date.toISOString().replace(/\D/g, '').slice(0, 14)}Z`);
}

function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...others] = dotted.split('.').map(Number);
  return der(0x06, Buffer.from([first * 40 + second, ...others.flatMap(sevenBits)]));
}

/** Seven bits a byte, of which all but the last have the eighth set. */
function sevenBits(number: number): number[] {
  const digits = [number & 0x7f];
  for (let rest = number >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
  return digits;
}
