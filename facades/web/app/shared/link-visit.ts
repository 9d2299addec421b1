/** The link that this tab goes on with, after the sign-in and the passphrase. */
const CONTINUED = 'shared link'

/** The name in addresses of the own chat that does not have all of a copy yet. */
const UNFINISHED = 'unfinished copy'

/** The keys of links that were opened in this tab, which a sign-in in between would lose. */
const keyOf = (id: string) => `shared link ${id}`

/** The part of a link that leads to a copy, and the key that opens it. */
export interface LinkVisit {
  id: string
  key: string
}

/** Keeps the key of a link in this tab while the person signs in. */
export const keepLinkKey = ({ id, key }: LinkVisit): void => sessionStorage.setItem(keyOf(id), key)

/** Returns the key that was kept before a sign-in, and forgets it. */
export function takeLinkKey(id: string): string | null {
  const key = sessionStorage.getItem(keyOf(id))
  sessionStorage.removeItem(keyOf(id))
  return key
}

/** Keeps the link that the front end continues with. */
export const keepContinued = (visit: LinkVisit): void => sessionStorage.setItem(CONTINUED, JSON.stringify(visit))

/** Returns the link to continue with, if there is one. */
export function readContinued(): LinkVisit | undefined {
  const text = sessionStorage.getItem(CONTINUED)
  return text === null ? undefined : (JSON.parse(text) as LinkVisit)
}

export const forgetContinued = (): void => sessionStorage.removeItem(CONTINUED)

/** Keeps that a chat lacks a part of what was shared, until `forgetUnfinished` is called. */
export const keepUnfinished = (slug: string): void => sessionStorage.setItem(UNFINISHED, slug)

export const isUnfinished = (slug: string): boolean => sessionStorage.getItem(UNFINISHED) === slug

export const forgetUnfinished = (): void => sessionStorage.removeItem(UNFINISHED)
