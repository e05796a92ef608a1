import Bowser from 'bowser';

/** The browser and the system of a client by name, as its User-Agent header reports them. */
export interface ClientSoftware {
  /** Such as "Chrome 129"; for other programs the first word of the header; null without a header. */
  readonly browser: string | null;
  /** Such as "Windows 10"; null if the header does not say. */
  readonly os: string | null;
}

const LONGEST_HEADER = 300;
const LONGEST_NAME = 50;

export function clientSoftware(userAgent: string | null | undefined): ClientSoftware {
  const header = (userAgent ?? '').trim().slice(0, LONGEST_HEADER);
  if (header === '') return { browser: null, os: null };
  const { browser, os } = Bowser.parse(header);
  const version = os.name === 'Windows' ? os.versionName : os.version;
  return {
    browser: browser.name
      ? named(browser.name, browser.version?.split('.', 1)[0])
      : (header.split(/\s/, 1)[0] ?? '').replace('/', ' ').slice(0, LONGEST_NAME),
    os: os.name ? named(os.name, version) : null,
  };
}

function named(name: string, version: string | undefined): string {
  return (version ? `${name} ${version}` : name).slice(0, LONGEST_NAME);
}
