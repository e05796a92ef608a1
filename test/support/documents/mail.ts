export interface MailPart {
  readonly type: string;
  readonly name?: string;
  readonly content: string | Buffer;
}

/** Each mail has its own, since mails may lie within each other. */
let boundaries = 0;

/** A mail as programs send it: headers, then its parts in base64. */
export function mailOf(
  headers: Readonly<Record<string, string>>,
  parts: readonly MailPart[],
): Buffer {
  boundaries += 1;
  const boundary = `=_boundary_${boundaries}`;
  const written = parts.map(({ type, name, content }) => {
    const disposition =
      name === undefined ? '' : `Content-Disposition: attachment; filename="${name}"\r\n`;
    // A message is not encoded again (RFC 2046).
    const isMessage = type === 'message/rfc822';
    const encoding = isMessage ? '8bit' : 'base64';
    const bytes = Buffer.from(content);
    const body = isMessage
      ? bytes.toString('latin1')
      : bytes.toString('base64').replace(/.{76}/g, '$&\r\n');
    return `--${boundary}\r\nContent-Type: ${type}\r\n${disposition}Content-Transfer-Encoding: ${encoding}\r\n\r\n${body}\r\n`;
  });
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const text = `${lines.join('')}MIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary="${boundary}"\r\n\r\n${written.join('')}--${boundary}--\r\n`;
  return Buffer.from(text, 'latin1');
}
