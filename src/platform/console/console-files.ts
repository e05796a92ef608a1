import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { NextFunction, Request, Response } from 'express';
import sirv from 'sirv';
import type { Config } from '../config/index.js';
import { packageFolder } from '../filesystem/index.js';
import { isRead } from '../http/index.js';

/** The folder into which `npm run build` puts the workspace `web`. */
const FOLDER = join('dist', 'web');
const PAGE = '/index.html';
/** The folder of files that have a hash of their content in their name. */
const HASHED = '/assets/';

/**
 * Serves the web console: its files, and its page for every address that no route answers. The page reads the address by
 * itself. Files that the build has compressed are sent so. Without a build, or with CONSOLE=off, it serves nothing and the API is as it is without a console.
 */
export class ConsoleFiles {
  private readonly files: ReturnType<typeof sirv> | undefined;
  private readonly policy: string;

  constructor(config: Config, folder = join(packageFolder(import.meta.url), FOLDER)) {
    this.policy = contentSecurityPolicy(config);
    if (!config.CONSOLE || !existsSync(join(folder, PAGE))) return;
    this.files = sirv(folder, {
      // The build has compressed them.
      brotli: true,
      gzip: true,
      etag: true,
      // Only files under their whole names: `/` is the greeting of the API.
      extensions: [],
      setHeaders: (response, path) => this.setHeaders(response as Response, path),
    });
  }

  /** Answers GET and HEAD requests for files of the console, and for the page at the root. */
  readonly serve = (request: Request, response: Response, next: NextFunction): void => {
    if (!this.files) {
      next();
    } else if (request.path === '/' && wantsPage(request)) {
      this.sendPage(request, response);
    } else {
      this.files(request, response, () => {
        if (request.path.startsWith(HASHED)) sendNotFound(response);
        else next();
      });
    }
  };

  /** Answers the page to a browser that opens an address which no route answers; false leaves the answer to the caller. */
  answerNotFound(request: Request, response: Response): boolean {
    if (!this.files || !isRead(request) || !wantsPage(request)) return false;
    this.sendPage(request, response);
    return true;
  }

  private sendPage(request: Request, response: Response): void {
    request.url = PAGE;
    this.files?.(request, response, () => sendNotFound(response));
  }

  private setHeaders(response: Response, path: string): void {
    const isHashed = path.startsWith(HASHED);
    response.setHeader(
      'Cache-Control',
      isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
    );
    if (!path.startsWith(PAGE)) return;
    response.setHeader('Content-Security-Policy', this.policy);
    response.setHeader('X-Frame-Options', 'DENY');
    // The same address answers JSON to other clients.
    response.vary('Accept');
  }
}

/** Browsers name HTML when they open an address, and other clients do not, which send any type or JSON. */
function wantsPage({ headers: { accept = '' } }: Request): boolean {
  return accept.toLowerCase().includes('text/html');
}

/** Answers a status without a page: an old page that asks for a script must not get another type. The answer is not cached. */
function sendNotFound(response: Response): void {
  response.status(404).set('Cache-Control', 'no-store').type('text/plain').send('Not found\n');
}

/** The content security policy; docs/SECURITY.md, The console, gives the reason for each directive. */
function contentSecurityPolicy({ MEDIA_CONTENT_HOSTS: hosts, demo }: Config): string {
  const media = ["'self'", 'data:', 'blob:', ...new Set(hosts.map((host) => `https://${host}`))];
  if (demo) media.push('http://127.0.0.1:*');
  return Object.entries({
    'default-src': ["'none'"],
    'script-src': ["'self'"],
    'style-src': ["'self'", "'unsafe-inline'"],
    'connect-src': ["'self'"],
    'img-src': media,
    'media-src': media,
    'font-src': ["'self'"],
    'worker-src': ["'self'"],
    'manifest-src': ["'self'"],
    'form-action': ["'self'"],
    'base-uri': ["'self'"],
    'frame-ancestors': ["'none'"],
  })
    .map(([name, sources]) => `${name} ${sources.join(' ')}`)
    .join('; ');
}
