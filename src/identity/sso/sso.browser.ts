import type { Request } from 'express';

/** The cookie that binds a sign-in to the browser that began it. */
const COOKIE = 'plinth_sso';
const FORM = /^[\w-]{43}$/;
/** A path of this origin. A browser reads // and /\ as another host, and leaves out tabs and line feeds. */
const OWN_PATH = /^\/(?![/\\])[^\\\p{Cc}]*$/u;

/** The name of the cookie. With TLS it has the prefix that browsers accept from this host alone, not from others of the domain. */
function nameOf(base: string): string {
  return isSecure(base) ? `__Host-${COOKIE}` : COOKIE;
}

export function browserOf({ headers }: Pick<Request, 'headers'>, base: string): string | undefined {
  const name = nameOf(base);
  const values = (headers.cookie ?? '')
    .split(';')
    .map((part) => part.trim().split('='))
    .flatMap(([cookieName, value]) => (cookieName === name && value !== undefined ? [value] : []));
  return values.find((value) => FORM.test(value));
}

/** The Set-Cookie header. SameSite is Lax, because the provider redirects from another site. */
export function cookieFor(base: string, browser: string, seconds: number): string {
  const attributes = [`Max-Age=${seconds}`, 'Path=/', 'HttpOnly', 'SameSite=Lax'];
  if (isSecure(base)) attributes.push('Secure');
  return [`${nameOf(base)}=${browser}`, ...attributes].join('; ');
}

/** The path if it belongs to this origin, otherwise the first page. */
export function ownPath(path: string | undefined): string {
  return path !== undefined && OWN_PATH.test(path) ? path : '/';
}

function isSecure(base: string): boolean {
  return new URL(base).protocol === 'https:';
}
