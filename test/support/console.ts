import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe } from '@jest/globals';
import axe from 'axe-core';
import type { AxeResults, RunOptions } from 'axe-core';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { startSimulator } from '../../simulator/index.js';
import type { Simulator } from '../../simulator/index.js';
import { demoSeedOf } from './demo-seed.js';
import { PARSED } from './knowledge.js';
import type { AttachmentRow } from './knowledge.js';
import { Plinth } from './plinth.js';
import type { Session } from './session.js';
import { ADMIN_PASSWORD, FULL_CLIENT } from './template.js';
import { eventually } from './wait.js';

/** The shell is the same browser without what only a screen needs. */
const BROWSERS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'];
const executablePath = process.env['CHROMIUM_PATH'] ?? BROWSERS.find((path) => existsSync(path));
const missing = missingPart();
if (missing !== undefined) {
  // .ci/run has installed both: there nothing may be left out.
  if (process.env['PLINTH_CONSOLE_TESTS'] === 'required') throw new Error(missing);
  process.stdout.write(`Skipped: ${missing}\n`);
}

/** The browsers that the running test has opened; undefined between tests. */
let openedByTest: Set<BrowserContext> | undefined;

/**
 * As describe; skipped where there is no Chromium or no built console. What a test opens is closed after it: an open page goes on
 * asking the service, and takes time from the tests that follow.
 */
export function describeConsole(name: string, suite: () => void): void {
  (missing === undefined ? describe : describe.skip)(name, () => {
    beforeEach(() => void (openedByTest = new Set()));
    suite();
    afterEach(async () => {
      for (const context of openedByTest ?? []) await context.close();
      openedByTest = undefined;
    });
  });
}

/** Playwright's own limit for one step is 30 seconds, which a loaded machine needs for a page at times. */
const STEP_MS = 60_000;
/** The keys under which the console keeps a choice in localStorage. */
const KEYS = {
  session: 'plinth.session',
  language: 'plinth.language',
  theme: 'mantine-color-scheme-value',
};

export type Theme = 'light' | 'dark';

export interface Look {
  readonly language?: 'en' | 'zh';
  readonly theme?: Theme;
  readonly width?: number;
  readonly height?: number;
  /** Of the browser; default: UTC. */
  readonly timeZone?: string;
}

export interface SignedIn extends Look {
  /** Default: admin, the super administrator of tenant 000000. */
  readonly user?: { readonly name: string; readonly password: string; readonly tenantId?: string };
}

/** A running Plinth with its console, and one browser for all pages of a suite. */
export class Console {
  private readonly problems: string[] = [];
  private expected: readonly RegExp[] = [];

  private constructor(
    readonly plinth: Plinth,
    readonly simulator: Simulator,
    readonly browser: Browser,
  ) {}

  /**
   * Boots both. The models and the documents are those of the offline demo, and nothing is at work any more: a call of
   * its parsing would use up a step that a test has scripted. `settings` overrides variables.
   */
  static async open({
    settings = {},
  }: { settings?: Record<string, string> } = {}): Promise<Console> {
    const simulator = await startSimulator();
    const plinth = await Plinth.start(settings);
    try {
      // The demo's own simulator is a program of the build.
      await demoSeedOf(plinth).apply(simulator.url);
      await allParsed(await plinth.signIn());
      // A sandbox of its own needs rights that a container does not give; tabs of one person share a process.
      const args = ['--no-sandbox', '--disable-dev-shm-usage', '--process-per-site'];
      const browser = await chromium.launch({ executablePath, args });
      return new Console(plinth, simulator, browser);
    } catch (error) {
      await plinth.stop();
      await simulator.close();
      throw error;
    }
  }

  get url(): string {
    return this.plinth.url;
  }

  /** Problems that belong to the tests of this suite, such as the 404 of a page that is not there. */
  expectProblems(...patterns: readonly RegExp[]): void {
    this.expected = [...this.expected, ...patterns];
  }

  /** A page of a browser of its own that has never been here. */
  async visitor({
    language = 'en',
    theme = 'light',
    width = 1440,
    height = 900,
    timeZone = 'UTC',
  }: Look = {}): Promise<Page> {
    return this.page(
      { width, height, theme, timeZone },
      { [KEYS.language]: language, [KEYS.theme]: theme },
    );
  }

  /** A page of a browser that is signed in. It is blank: go to an address first. */
  async signedIn({ user, ...look }: SignedIn = {}): Promise<Page> {
    const { language = 'en', theme = 'light', width = 1440, height = 900, timeZone = 'UTC' } = look;
    return this.page(
      { width, height, theme, timeZone },
      {
        [KEYS.language]: language,
        [KEYS.theme]: theme,
        [KEYS.session]: JSON.stringify(await this.session(user)),
      },
    );
  }

  /** Closes everything. Throws what the pages of the suite have complained about and no test has expected. */
  async close(): Promise<void> {
    await this.browser.close();
    await this.plinth.stop();
    await this.simulator.close();
    const unexpected = this.problems.filter((text) => !this.expected.some((one) => one.test(text)));
    if (unexpected.length > 0) {
      throw new Error(`Problems in the browser:\n  ${[...new Set(unexpected)].join('\n  ')}`);
    }
  }

  private async page(
    { width, height, theme, timeZone }: Required<Omit<Look, 'language'>>,
    kept: Readonly<Record<string, string>>,
  ): Promise<Page> {
    const context = await this.browser.newContext({
      baseURL: this.url,
      viewport: { width, height },
      colorScheme: theme,
      reducedMotion: 'reduce',
      timezoneId: timeZone,
    });
    openedByTest?.add(context);
    context.setDefaultTimeout(STEP_MS);
    // Once for each browser: what a page changes stays after a reload.
    const entries = JSON.stringify(Object.entries(kept));
    await context.addInitScript({
      content: `if (location.protocol.startsWith('http') && !localStorage.getItem('plinth.test')) {
        localStorage.setItem('plinth.test', '1');
        for (const [key, value] of ${entries}) localStorage.setItem(key, value);
      }`,
    });
    this.watch(context);
    return context.newPage();
  }

  private watch(context: BrowserContext): void {
    context.on('console', (message) => {
      if (message.type() !== 'error') return;
      this.problems.push(`console: ${message.text()} (${message.location().url})`);
    });
    context.on('weberror', (problem) => this.problems.push(`page: ${problem.error().message}`));
    context.on('requestfailed', (request) => {
      const reason = request.failure()?.errorText ?? '';
      // A page that is left ends its requests.
      if (reason === 'net::ERR_ABORTED') return;
      this.problems.push(`request: ${request.method()} ${request.url()} ${reason}`);
    });
  }

  private async session(user: SignedIn['user']): Promise<object> {
    const {
      name: username,
      password,
      tenantId = '000000',
    } = user ?? {
      name: 'admin',
      password: ADMIN_PASSWORD,
    };
    const login = { tenantId, username, password, clientId: FULL_CLIENT, grantType: 'password' };
    const answer = await this.plinth
      .anonymous()
      .post<{ access_token: string }>('/auth/login', login);
    if (answer.code !== 200) throw new Error(`Sign-in failed: ${answer.msg}`);
    return { token: answer.data.access_token, clientId: FULL_CLIENT, tenantId };
  }
}

/** Fails for what axe calls serious or critical. The themes differ in nothing but colours. */
export async function expectNoViolations(page: Page): Promise<void> {
  await page.evaluate(axe.source);
  const found: string[] = [];
  for (const theme of ['light', 'dark'] as const) {
    const options: RunOptions = {
      // It fetches all style sheets again, for rules that are off.
      preload: false,
      resultTypes: ['violations'],
      ...(theme === 'dark' && { runOnly: ['color-contrast'] }),
    };
    // At its end at once, whatever fades from one colour to the other: those between have less contrast.
    const { violations } = await page.evaluate<AxeResults>(`(() => {
      document.documentElement.dataset.mantineColorScheme = '${theme}';
      for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
      return axe.run(${JSON.stringify(options)});
    })()`);
    for (const { id, impact, help, nodes } of violations) {
      if (impact !== 'serious' && impact !== 'critical') continue;
      const places = nodes.map(({ target }) => target.join(' ')).slice(0, 5);
      found.push(`${theme}: ${id} (${impact}), ${help}: ${places.join(', ')}`);
    }
  }
  if (found.length > 0) throw new Error(`axe, ${page.url()}:\n  ${found.join('\n  ')}`);
}

const SHOTS = process.env['PLINTH_SHOTS'];

/** Writes pictures of the page to the folder that PLINTH_SHOTS names, for people who look at them: wide, dark and on a phone. */
export async function takeShots(page: Page, name: string): Promise<void> {
  if (SHOTS === undefined) return;
  const size = page.viewportSize();
  const setTheme = (theme: Theme) =>
    page.evaluate(`document.documentElement.dataset.mantineColorScheme = '${theme}'`);
  await setTheme('light');
  await page.screenshot({ path: `${SHOTS}/${name}.png` });
  await setTheme('dark');
  await page.screenshot({ path: `${SHOTS}/${name}-dark.png` });
  await setTheme('light');
  await page.setViewportSize({ width: 390, height: 844 });
  await page.screenshot({ path: `${SHOTS}/${name}-phone.png` });
  if (size) await page.setViewportSize(size);
}

/**
 * Fails for controls that a mouse cannot use: at the middle of what is seen of them lies something else. Looks at all of the
 * page, or of the dialog that is open. Answers how many there were.
 */
export async function expectClickable(page: Page): Promise<number> {
  const { count, covered } = await page.evaluate<{ count: number; covered: string[] }>(
    `(${COVERED_CONTROLS})()`,
  );
  if (covered.length > 0) {
    throw new Error(`Covered controls, ${page.url()}:\n  ${covered.join('\n  ')}`);
  }
  return count;
}

/** Clicks a control with the mouse where a person does; of a switch or checkbox only its label or its track can be seen. */
export async function clickFace(control: Locator): Promise<void> {
  const face = control.locator('xpath=ancestor::label | following-sibling::label').first();
  await ((await face.count()) > 0 ? face : control).click();
}

/** A page that was just resized has its new layout within some frames. */
const COVERED_CONTROLS = `async function () {
  const CONTROLS = 'a[href], button, input, select, textarea, [role=button], [role=tab], [role=switch], [role=link]';
  const isShown = (element) => element.checkVisibility({ opacityProperty: true, visibilityProperty: true });
  for (let frames = 0; ; frames += 1) {
    const found = look();
    if (found.covered.length === 0 || frames === 30) return found;
    await new Promise(requestAnimationFrame);
  }
  function look() {
    for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
    const dialogs = [...document.querySelectorAll('[role=dialog]')].filter(isShown);
    const root = dialogs.at(-1) ?? document.body;
    const covered = [];
    let count = 0;
    for (const control of root.querySelectorAll(CONTROLS)) {
      if (control.matches(':disabled, [aria-hidden=true], [type=hidden], .skip-link')) continue;
      if (control.closest('[inert], [aria-hidden=true]')) continue;
      const { width, height } = control.getBoundingClientRect();
      const isFace = isShown(control) && width > 1 && height > 1;
      const face = isFace ? control : [...(control.labels ?? [])].find(isShown);
      if (!face) continue;
      face.scrollIntoView({ block: 'center', inline: 'center', behavior: 'instant' });
      const [box] = face.getClientRects();
      if (!box) continue;
      // The menu of a phone is beside the window until it is opened.
      if (box.right <= 0) continue;
      const hit = document.elementFromPoint(box.x + box.width / 2, box.y + box.height / 2);
      count += 1;
      const isHit = face.contains(hit) || (hit?.contains(face) && hit.closest('label')?.control === control);
      if (isHit) continue;
      const show = (element) => element?.outerHTML.slice(0, 160).replaceAll(/\\s+/g, ' ');
      covered.push(show(face) + ' is below ' + show(hit));
    }
    return { count, covered };
  }
}`;

async function allParsed(admin: Session): Promise<void> {
  await eventually(
    () => admin.get<AttachmentRow[]>('/system/attach/list'),
    ({ rows }) => rows.length > 0 && rows.every(({ status }) => status === PARSED),
  );
}

function missingPart(): string | undefined {
  if (executablePath === undefined || !existsSync(executablePath)) {
    return `${executablePath ?? 'Chromium'} is missing. Install it (apt-get install chromium-headless-shell), or name a browser with CHROMIUM_PATH.`;
  }
  const page = join('dist', 'web', 'index.html');
  return existsSync(page) ? undefined : `${page} is missing. Build first: npm run build`;
}
