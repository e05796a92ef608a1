import type { Request } from 'express';

/** Binds a sign-in to the browser that began it. */
const COOKIE = 'plinth_sso';
const FORM = /^[\w-]{43}$/;
/** A path of this origin. A browser reads // and /\ as another host, and leaves out tabs and line feeds. */
const OWN_PATH = /^\/(?![/\\])[^\\\p{Cc}]*$/u;

export function browserOf({ headers: { cookie = '' } }: Request): string | undefined {
  const values = cookie
    .split(';')
    .map((part) => part.trim().split('='))
    .flatMap(([name, value]) => (name === COOKIE && value !== undefined ? [value] : []));
  return values.find((value) => FORM.test(value));
}

/** Lax, because the provider leads back from another site; only the addresses of sign-ins get it. */
export function cookieFor(base: string, browser: string, seconds: number): string {
  const { protocol, pathname } = new URL(base);
  const path = `${pathname.replace(/\/$/, '')}/auth/sso`;
  const attributes = [`Max-Age=${seconds}`, `Path=${path}`, 'HttpOnly', 'SameSite=Lax'];
  if (protocol === 'https:') attributes.push('Secure');
  return [`${COOKIE}=${browser}`, ...attributes].join('; ');
}

/** The path where it is one of this origin, else the first page. */
export function ownPath(given: string | undefined): string {
  return given !== undefined && OWN_PATH.test(given) ? given : '/';
}
