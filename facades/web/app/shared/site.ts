const { site = '', logo, links = '[]' } = document.documentElement.dataset

/** What this installation is called, and the address of its logo where it has one. */
export const siteName = site
export const siteLogo = logo

/** Pages on this installation, each by the key of its text. */
export const siteLinks = JSON.parse(links) as { text: string; address: string }[]
