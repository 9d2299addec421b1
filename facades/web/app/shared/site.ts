const { site = '', logo, titles, links = '[]' } = document.documentElement.dataset

/** The name of this installation, and the address of its logo if it has one. */
export const siteName = site
export const siteLogo = logo

/** True if models may be asked for the titles of chats. */
export const hasTitles = titles !== 'off'

/** Links to pages of this installation; `text` is the key of a label. */
export const siteLinks = JSON.parse(links) as { text: string; address: string }[]
