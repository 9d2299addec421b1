/** Browsers start a download later than the click, and large files are written slowly. */
const URL_LIFETIME_MS = 60_000

/** Downloads content that is in the browser as a file of this name. */
export function saveFile(content: Blob, name: string): void {
  const href = URL.createObjectURL(content)
  saveAddress(href, name)
  setTimeout(() => URL.revokeObjectURL(href), URL_LIFETIME_MS)
}

/** Downloads what an address of this page, or one with data, leads to. */
export const saveAddress = (href: string, name: string): void =>
  Object.assign(document.createElement('a'), { href, download: name }).click()
