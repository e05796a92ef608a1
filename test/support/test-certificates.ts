import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TestCertificates {
  /** PEM of an authority that exists for this run of the tests alone. */
  readonly ca: string;
  /** A certificate of the authority, with its key, for the names. */
  readonly key: string;
  readonly cert: string;
}

/** Makes an authority and one certificate with openssl; Node.js cannot make X.509 certificates. */
export function makeCertificates(names: readonly string[]): TestCertificates {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-certificates-'));
  const openssl = (...parts: string[]): void => {
    execFileSync('openssl', parts, { cwd: folder, stdio: 'ignore' });
  };
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  const altNames = names.map((name) => (/^[\d.]+$/.test(name) ? `IP:${name}` : `DNS:${name}`));
  try {
    openssl(
      ...['req', '-x509', ...newKey, '-keyout', 'ca.key', '-out', 'ca.pem', '-days', '2'],
      ...['-subj', '/CN=Plinth test authority', '-addext', 'basicConstraints=critical,CA:TRUE'],
    );
    openssl(
      ...['req', ...newKey, '-keyout', 'leaf.key', '-out', 'leaf.csr'],
      ...['-subj', '/CN=Plinth test service'],
    );
    writeFileSync(join(folder, 'leaf.ext'), `subjectAltName=${altNames.join(',')}\n`);
    openssl(
      ...['x509', '-req', '-in', 'leaf.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key'],
      ...['-CAcreateserial', '-out', 'leaf.pem', '-days', '2', '-extfile', 'leaf.ext'],
    );
    const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
    return { ca: read('ca.pem'), key: read('leaf.key'), cert: read('leaf.pem') };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
