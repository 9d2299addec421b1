/** What somebody browses with, by the names that people know. */
export interface Device {
  browser: string | null
  system: string | null
}

type Names = readonly (readonly [name: string, pattern: RegExp])[]

/** The first that fits: most browsers also name those whose pages they want to be sent. */
const browsers: Names = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
]

const systems: Names = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

/** Reads what a browser calls itself; it may say anything. */
export const readUserAgent = (userAgent: string | null): Device => ({
  browser: nameIn(browsers, userAgent ?? ''),
  system: nameIn(systems, userAgent ?? ''),
})

const nameIn = (names: Names, text: string) => names.find(([, pattern]) => pattern.test(text))?.[0] ?? null
