import { buffer } from 'node:stream/consumers';
import { Inject, Injectable } from '@nestjs/common';
import { parseFragment } from 'parse5';
import { DocumentReader } from '../attach/index.js';
import { InvalidInputError } from '../platform/error/index.js';
import { msg } from '../platform/message/index.js';
import { limitedBody } from '../platform/outbound/index.js';
import { AddressRefusedError, nameOf, readRobots, WebFetch } from '../source/index.js';

/** The client for addresses that models choose. */
export const PAGE_FETCH = Symbol('PAGE_FETCH');

const MAX_PAGE_BYTES = 10 * 2 ** 20;
/** Sites that redirects may lead through, such as from http to https to www. */
const MAX_SITES = 4;
const MAX_TITLE_CHARS = 300;
/** Beginning of a page in which its title stands. */
const TITLE_CHARS = 100_000;
const ACCEPT = 'text/html, application/pdf, text/plain;q=0.9, */*;q=0.5';

/** A page as text. */
export interface WebPage {
  /** The address that has answered, after redirects. */
  readonly address: string;
  readonly title: string;
  readonly text: string;
}

interface ReceivedPage {
  readonly address: string;
  readonly name: string;
  readonly content: Buffer;
}

/** Reads pages of the web as the parser reads documents. */
@Injectable()
export class WebPages {
  constructor(
    @Inject(PAGE_FETCH) private readonly web: WebFetch,
    private readonly documents: DocumentReader,
  ) {}

  /**
   * The text of a page, or of a PDF or another document. What robots.txt forbids is not read, on any site that redirects lead
   * through. Rejects with a DomainError that says what to do, or with the reason of the signal.
   */
  async read(address: string, signal: AbortSignal): Promise<WebPage> {
    const page = await this.receive(address, signal);
    const text = (await this.documents.textOf(page.content, page.name, signal)).trim();
    if (text === '') {
      throw new InvalidInputError(
        msg`The page has no text: it may need a browser or a sign-in. Use another page.`,
      );
    }
    return { address: page.address, title: titleOf(page), text };
  }

  private async receive(address: string, signal: AbortSignal): Promise<ReceivedPage> {
    let current = address;
    for (let sites = 0; sites < MAX_SITES; sites += 1) {
      const next = await this.receiveFromSite(current, signal);
      if (typeof next !== 'string') return next;
      current = next;
    }
    throw new InvalidInputError(msg`The page is redirected too often. Use another page.`);
  }

  /** The page, or the address on another site to which it was moved. */
  private async receiveFromSite(
    address: string,
    signal: AbortSignal,
  ): Promise<ReceivedPage | string> {
    this.web.check(address, false);
    const { origin } = new URL(address);
    const { allows } = await readRobots(this.web, origin, signal);
    if (!allows(address)) throw new RobotsError();
    let target: string | undefined;
    const isAllowed = (redirect: string): boolean => {
      if (new URL(redirect).origin === origin) {
        if (!allows(redirect)) throw new RobotsError();
        return true;
      }
      target = redirect;
      return false;
    };
    try {
      const fetched = await this.web.get(address, signal, { accept: ACCEPT }, isAllowed);
      const { response } = fetched;
      if (response.status !== 200) {
        response.discard();
        throw new PageStatusError(response.status);
      }
      const content = await buffer(limitedBody(response.body, MAX_PAGE_BYTES));
      return { address: fetched.address, name: nameOf(fetched), content };
    } catch (error) {
      if (error instanceof AddressRefusedError && target !== undefined) return target;
      throw error;
    }
  }
}

/** The title of an HTML page, or the name of the document. */
function titleOf({ name, content }: ReceivedPage): string {
  if (!/\.html?$/i.test(name)) return name;
  const beginning = content.toString('utf8', 0, TITLE_CHARS);
  const [, marked = ''] = /<title[^>]*>([^<]*)</i.exec(beginning) ?? [];
  const [node] = parseFragment(marked).childNodes;
  const title = node && 'value' in node ? node.value.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim() : '';
  return title.slice(0, MAX_TITLE_CHARS).toWellFormed() || name;
}

class RobotsError extends InvalidInputError {
  constructor() {
    super(msg`The site does not allow programs to read this page (robots.txt). Use another page.`);
  }
}

class PageStatusError extends InvalidInputError {
  constructor(status: number) {
    super(msg`The page answered with status ${status}. Check the address, or use another page.`);
  }
}
