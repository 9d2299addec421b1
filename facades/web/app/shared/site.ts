const { site = '', logo, imprint, privacy, help } = document.documentElement.dataset

/** What this installation is called, and the address of its logo where it has one. */
export const siteName = site
export const siteLogo = logo

/** Pages elsewhere that the installation names, each by the key of its text. */
export const siteLinks = [
  { text: 'page.site.help', address: help },
  { text: 'page.site.privacy', address: privacy },
  { text: 'page.site.imprint', address: imprint },
].flatMap(({ text, address }) => (address === undefined ? [] : { text, address }))
