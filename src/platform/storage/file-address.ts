import { createHmac, timingSafeEqual } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { msg } from '../message/index.js';
import { CONFIG } from '../config/index.js';
import type { Config } from '../config/index.js';
import { NotFoundError } from '../error/index.js';
import { currentRequest } from '../http/index.js';
import { isPageImage, suffixOf } from './file-type.js';
import { SigningKey } from './signing-key.js';
import type { StoredFile } from './storage.entity.js';
import { ExpiredAddressError } from './storage.errors.js';

/** A file whose address needs no sign-in. */
export interface SharedFile {
  readonly tenantId: string;
  readonly fileId: number;
  /** The expiry in seconds since the epoch; 0 if the address does not expire. */
  readonly expires: number;
}

/** `<tenant>.<file>.<expiry>.<signature>`; the signature is HMAC-SHA-256 over the rest, in base64url. */
const FORM = /^((\d{6})\.(\d{1,15})\.(\d{1,12}))\.([\w-]{43})$/;

/** The token of an address. Only the holder of the key can make one. */
export function signFile(key: Buffer, { tenantId, fileId, expires }: SharedFile): string {
  const signed = `${tenantId}.${fileId}.${expires}`;
  return `${signed}.${signature(key, signed).toString('base64url')}`;
}

/** The file of a token, whether or not it has expired; undefined if its signature does not fit. Takes constant time. */
export function readFileToken(key: Buffer, token: string): SharedFile | undefined {
  const [, signed, tenantId, fileId, expires, signatureText] = FORM.exec(token) ?? [];
  if (!signed || !tenantId || !signatureText) return undefined;
  const bytes = Buffer.from(signatureText, 'base64url');
  const expected = signature(key, signed);
  if (bytes.length !== expected.length || !timingSafeEqual(bytes, expected)) return undefined;
  return { tenantId, fileId: Number(fileId), expires: Number(expires) };
}

function signature(key: Buffer, signed: string): Buffer {
  return createHmac('sha256', key).update(`plinth file ${signed}`).digest();
}

/** How long the address of a file that is not an icon is valid. */
const VALID_SECONDS = 3_600;

/** Limit of a name in an address, after encoding. */
const MAX_NAME_CHARS = 200;

/** Makes and reads addresses that open one file without a sign-in. */
@Injectable()
export class FileAddresses {
  constructor(
    private readonly key: SigningKey,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /**
   * The absolute address of the file, which ends in its name; relative where neither PUBLIC_URL nor a request says where
   * clients reach the API. That of an independent image does not expire, because records keep it as their icon; others
   * are valid for an hour.
   */
  async of(file: StoredFile): Promise<string> {
    const { tenantId, id: fileId, belongsTo, mimeType } = file;
    const isIcon = belongsTo === null && isPageImage(mimeType);
    const expires = isIcon ? 0 : Math.floor(Date.now() / 1_000) + VALID_SECONDS;
    const token = signFile(await this.key.get(), { tenantId, fileId, expires });
    return `${this.base()}/resource/oss/shared/${token}/${nameInAddress(file.originalName)}`;
  }

  /** Makes addresses that do not expire, for images that are part of a record. The name is only shown. */
  async permanent(): Promise<(file: Omit<SharedFile, 'expires'>, name: string) => string> {
    const key = await this.key.get();
    const base = this.base();
    return (file, name) =>
      `${base}/resource/oss/shared/${signFile(key, { ...file, expires: 0 })}/${nameInAddress(name)}`;
  }

  /** The file that the token names. NotFoundError for a wrong signature, ExpiredAddressError after the expiry. */
  async read(token: string): Promise<SharedFile> {
    const file = readFileToken(await this.key.get(), token);
    if (!file) throw new NotFoundError(msg`The file`);
    if (file.expires !== 0 && file.expires * 1_000 <= Date.now()) throw new ExpiredAddressError();
    return file;
  }

  private base(): string {
    return this.config.PUBLIC_URL ?? currentRequest()?.baseAddress ?? '';
  }
}

/** A name that is long after encoding is replaced, but for its suffix, by which clients recognise images. */
function nameInAddress(name: string): string {
  const encoded = encodeURIComponent(name.toWellFormed());
  return encoded.length <= MAX_NAME_CHARS ? encoded : `file${encodeURIComponent(suffixOf(name))}`;
}
