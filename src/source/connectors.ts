import { setTimeout as sleep } from 'node:timers/promises';
import { Readable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { Injectable } from '@nestjs/common';
import { parse } from 'parse5';
import type { DefaultTreeAdapterTypes } from 'parse5';
import { DomainError } from '../platform/error/index.js';
import { OutboundError } from '../platform/outbound/index.js';
import { isRefused, StorageService, UploadEngine } from '../platform/storage/index.js';
import { AddressRefusedError, nameOf, WebFetch } from './fetch.js';
import type { Fetched } from './fetch.js';
import { GitConnector } from './git.connector.js';
import { readRobots } from './robots.js';
import { S3Connector } from './s3.connector.js';
import { DEFAULT_DEPTH, DEFAULT_PAGES } from './source.dto.js';
import { SourceRepository } from './source.repository.js';
import { SourceService } from './source.service.js';
import type { ConnectorRun } from './source.service.js';

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** Bytes of all pages of a run. */
const MAX_RUN_BYTES = 2 ** 30;
const MAX_SITEMAP_BYTES = 50 * 2 ** 20;
const MAX_SITEMAPS = 50;
/** Bytes of a page whose links are read. */
const MAX_PAGE_BYTES = 2 * 2 ** 20;
/** Pause between two requests to a site, unless its robots.txt asks for a longer one. */
const PAUSE_MS = 200;
const MAX_PAUSE_MS = 30_000;

/** A page that is to be read, and its distance from the start. */
interface QueuedPage {
  readonly address: string;
  readonly depth: number;
}

interface PageLinks {
  readonly canonical: string | undefined;
  readonly isIndexed: boolean;
  readonly isFollowed: boolean;
  readonly links: readonly string[];
}

/** Runs the connectors of this service on the contract that programs have. */
@Injectable()
export class Connectors {
  constructor(
    private readonly repository: SourceRepository,
    private readonly sources: SourceService,
    private readonly web: WebFetch,
    private readonly uploads: UploadEngine,
    private readonly storage: StorageService,
    private readonly git: GitConnector,
    private readonly s3: S3Connector,
  ) {}

  /** Puts every document of the source. False if a limit has left some out. Rejects with the reason of the signal. */
  async run(run: ConnectorRun): Promise<boolean> {
    if (run.source.kind === 'git') return this.git.run(run);
    if (run.source.kind === 's3') return this.s3.run(run);
    return new Crawl(
      run,
      this.repository,
      this.sources,
      this.web,
      this.uploads,
      this.storage,
    ).run();
  }
}

/** One pass over a web site: its sitemaps, and links from the start address. */
class Crawl {
  private readonly maxPages: number;
  private readonly maxDepth: number;
  private readonly start: URL;
  private readonly queue: QueuedPage[] = [];
  private readonly known = new Set<string>();
  private pauseMs = PAUSE_MS;
  private allows: (address: string) => boolean = () => true;
  private bytes = 0;
  private pages = 0;

  constructor(
    private readonly work: ConnectorRun,
    private readonly repository: SourceRepository,
    private readonly sources: SourceService,
    private readonly web: WebFetch,
    private readonly uploads: UploadEngine,
    private readonly storage: StorageService,
  ) {
    const {
      address = '',
      maxPages = DEFAULT_PAGES,
      maxDepth = DEFAULT_DEPTH,
    } = work.source.settings;
    this.maxPages = maxPages;
    this.maxDepth = maxDepth;
    this.start = new URL(address);
  }

  async run(): Promise<boolean> {
    const { signal } = this.work;
    const sitemaps = await this.readRobots();
    this.add(this.start.href, 0);
    await this.readSitemaps(sitemaps);
    let isFirst = true;
    for (let page = this.queue.shift(); page; page = this.queue.shift()) {
      signal.throwIfAborted();
      if (this.pages >= this.maxPages || this.bytes >= MAX_RUN_BYTES) return false;
      this.pages += 1;
      try {
        await this.visit(page);
      } catch (error) {
        signal.throwIfAborted();
        // Without its start page a site is away: nothing can be said about its pages.
        if (!(error instanceof DomainError) || isFirst) throw error;
      }
      isFirst = false;
      await sleep(this.pauseMs, undefined, { signal });
    }
    return true;
  }

  private async visit({ address, depth }: QueuedPage): Promise<void> {
    const { caller, knowledge, source, run, signal } = this.work;
    const existing = await this.repository.document(source.tenantId, source.id, address);
    // An earlier attempt of this run has put it.
    if (existing?.seenAt && existing.seenAt >= run.beganAt && existing.ossId !== null) {
      return this.followStored(existing.ossId, address, depth);
    }
    const item = { externalId: address };
    await this.sources.guarded(caller, source, item, async () => {
      const fetched = await this.fetch(address, existing?.etag ?? null);
      const { response } = fetched;
      if (response.status === 304 && existing && existing.ossId !== null) {
        response.discard();
        const etag = existing.etag ?? undefined;
        await this.sources.store(caller, knowledge, source, { ...item, etag });
        return this.followStored(existing.ossId, address, depth);
      }
      if (response.status === 404 || response.status === 410) {
        response.discard();
        return;
      }
      if (response.status !== 200) {
        response.discard();
        throw new AddressRefusedError(response.status);
      }
      // The page is that of its final address.
      if (fetched.address !== address) {
        response.discard();
        this.add(fetched.address, depth);
        return;
      }
      return this.store(fetched, address, depth);
    });
    signal.throwIfAborted();
  }

  private async fetch(address: string, mark: string | null): Promise<Fetched> {
    const since = mark?.startsWith(MODIFIED) ? mark.slice(MODIFIED.length) : undefined;
    const headers = {
      accept: 'text/html, application/pdf, text/plain;q=0.9, */*;q=0.5',
      ...(since !== undefined && { 'if-modified-since': since }),
      ...(mark && since === undefined && { 'if-none-match': mark }),
    };
    return this.web.get(address, this.work.signal, headers, (target) => this.allows(target));
  }

  private async store(fetched: Fetched, address: string, depth: number): Promise<void> {
    const { caller, knowledge, source, signal } = this.work;
    const { response } = fetched;
    const received = await this.uploads.receive(
      Readable.from(response.body),
      nameOf(fetched),
      signal,
    );
    if (isRefused(received)) throw received.refusal;
    this.bytes += received.size;
    try {
      const robots = String(response.headers['x-robots-tag'] ?? '');
      const page = isPage(fetched)
        ? await this.linksOf(
            await this.storage.readReceived(received, wholeOf(received.size)),
            address,
          )
        : NO_LINKS;
      if (page.isFollowed && !/\b(nofollow|none)\b/i.test(robots)) this.follow(page, depth);
      const { canonical = address } = page;
      if (canonical !== address && this.isInside(canonical)) {
        this.add(canonical, depth);
        return;
      }
      if (!page.isIndexed || /\b(noindex|none)\b/i.test(robots)) return;
      const etag = markOf(fetched);
      const metadata = { url: address };
      await this.sources.store(
        caller,
        knowledge,
        source,
        { externalId: address, etag, metadata },
        received,
      );
    } finally {
      await this.storage.discardUnrecorded([received]);
    }
  }

  /** The links of a page that has not changed, from its stored content. */
  private async followStored(fileId: number, address: string, depth: number): Promise<void> {
    const { content, originalName } = await this.storage.open(this.work.source.tenantId, fileId);
    if (!originalName.toLowerCase().includes('.htm')) return void content.destroy();
    this.follow(await this.linksOf(content, address), depth);
  }

  private follow({ isFollowed, links }: PageLinks, depth: number): void {
    if (!isFollowed || depth >= this.maxDepth) return;
    for (const link of links) this.add(link, depth + 1);
  }

  private add(address: string, depth: number): void {
    const url = URL.parse(address);
    if (!url) return;
    url.hash = '';
    const { href } = url;
    if (this.known.has(href) || !this.isInside(href) || !this.allows(href)) return;
    // More than can be read is not kept.
    if (this.known.size > this.maxPages * 4) return;
    this.known.add(href);
    this.queue.push({ address: href, depth });
  }

  /** Whether the address is of the site, in the folder of the start address. */
  private isInside(address: string): boolean {
    const url = URL.parse(address);
    const folder = this.start.pathname.slice(0, this.start.pathname.lastIndexOf('/') + 1);
    return url?.origin === this.start.origin && url.pathname.startsWith(folder);
  }

  private async linksOf(content: Readable, address: string): Promise<PageLinks> {
    const chunks: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of content as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > MAX_PAGE_BYTES) break;
      chunks.push(chunk);
    }
    return readLinks(Buffer.concat(chunks).toString('utf8'), address);
  }

  private async readRobots(): Promise<string[]> {
    const { allows, delayMs, sitemaps } = await readRobots(this.web, this.start, this.work.signal);
    this.allows = allows;
    this.pauseMs = Math.min(Math.max(PAUSE_MS, delayMs), MAX_PAUSE_MS);
    return sitemaps.length > 0 ? [...sitemaps] : [new URL('/sitemap.xml', this.start).href];
  }

  private async readSitemaps(sitemaps: string[]): Promise<void> {
    for (let at = 0; at < sitemaps.length && at < MAX_SITEMAPS; at += 1) {
      const { pages, indexes } = await this.readSitemap(sitemaps[at] ?? '');
      for (const page of pages) this.add(page, 0);
      sitemaps.push(...indexes);
    }
  }

  /** The addresses of a sitemap or an index of sitemaps. One that cannot be read lists nothing. */
  private async readSitemap(address: string): Promise<{ pages: string[]; indexes: string[] }> {
    const { signal } = this.work;
    try {
      const { response } = await this.web.get(address, signal);
      if (response.status !== 200) {
        response.discard();
        return { pages: [], indexes: [] };
      }
      const chunks: Buffer[] = [];
      let size = 0;
      for await (const chunk of response.body) {
        size += chunk.length;
        if (size > MAX_SITEMAP_BYTES) throw new OutboundError('too-large');
        chunks.push(chunk);
      }
      const bytes = Buffer.concat(chunks);
      const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
      const xml = isPacked ? gunzipSync(bytes, { maxOutputLength: MAX_SITEMAP_BYTES }) : bytes;
      return readSitemap(xml.toString('utf8'), address);
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof DomainError || error instanceof RangeError || isPackingError(error)) {
        return { pages: [], indexes: [] };
      }
      throw error;
    }
  }
}

const MODIFIED = 'modified ';
const NO_LINKS: PageLinks = { canonical: undefined, isIndexed: true, isFollowed: false, links: [] };

function markOf({ response: { headers } }: Fetched): string | undefined {
  if (headers.etag) return headers.etag.slice(0, 500);
  const modified = headers['last-modified'];
  return modified === undefined ? undefined : `${MODIFIED}${modified}`.slice(0, 500);
}

function isPage({ response }: Fetched): boolean {
  return /^(text\/html|application\/xhtml\+xml)/i.test(response.headers['content-type'] ?? '');
}

function wholeOf(size: number): { start: number; end: number } {
  return { start: 0, end: Math.min(size, MAX_PAGE_BYTES) };
}

function isPackingError(error: unknown): boolean {
  return error instanceof Error && 'code' in error && String(error.code).startsWith('Z_');
}

/** The addresses in the elements `loc`: of pages below `url`, of further sitemaps below `sitemap`. */
export function readSitemap(xml: string, address: string): { pages: string[]; indexes: string[] } {
  const isIndex = /<(?:\w+:)?sitemapindex[\s>]/.test(xml);
  const locations = xml.matchAll(/<(?:\w+:)?loc>\s*(?:<!\[CDATA\[)?([^<\]]+?)(?:\]\]>)?\s*<\//g);
  const addresses = [...locations].flatMap(([, text = '']) => {
    const url = URL.parse(text.replaceAll('&amp;', '&'), address);
    return url ? [url.href] : [];
  });
  return isIndex ? { pages: [], indexes: addresses } : { pages: addresses, indexes: [] };
}

/** What a page says about itself, and where it leads. */
export function readLinks(html: string, address: string): PageLinks {
  let base = address;
  let canonical: string | undefined;
  let robots = '';
  const hrefs: string[] = [];
  const visit = (node: Node): void => {
    if ('tagName' in node) {
      const { tagName } = node;
      const href = attributeOf(node, 'href');
      if (tagName === 'base' && href) base = URL.parse(href, address)?.href ?? base;
      const isMarked = /\b(robots|plinth)\b/i.test(attributeOf(node, 'name') ?? '');
      if (tagName === 'meta' && isMarked) robots += ` ${attributeOf(node, 'content') ?? ''}`;
      const relations = (attributeOf(node, 'rel') ?? '').toLowerCase().split(/\s+/);
      if (tagName === 'link' && href && relations.includes('canonical')) canonical = href;
      if (tagName === 'a' && href && !relations.includes('nofollow')) hrefs.push(href);
    }
  };
  // Iterative: a page may be nested more deeply than the stack.
  const waiting: Node[] = [parse(html)];
  for (let node = waiting.pop(); node; node = waiting.pop()) {
    visit(node);
    if ('childNodes' in node) waiting.push(...node.childNodes.toReversed());
  }
  const target = (href: string): string | undefined => {
    const url = URL.parse(href, base);
    if (!url || !/^https?:$/.test(url.protocol)) return undefined;
    url.hash = '';
    return url.href;
  };
  return {
    canonical: canonical === undefined ? undefined : target(canonical),
    isIndexed: !/\b(noindex|none)\b/i.test(robots),
    isFollowed: !/\b(nofollow|none)\b/i.test(robots),
    links: hrefs.map(target).filter((href) => href !== undefined),
  };
}

function attributeOf(element: Element, name: string): string | undefined {
  return element.attrs.find((attribute) => attribute.name === name)?.value;
}
