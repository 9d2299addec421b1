/** The word that stands in addresses and in the name of the sync log: here and nowhere else. */
export const brand = 'svc'

export const basePath = `/api/${brand}/v1`
export const sessionCookie = `${brand}_session`
export const syncLogMember = `_${brand}_sync_log`

/** How a name of a declaration is written on the wire: here and nowhere else. */
export const memberName = (name: string): string => name

export const mediaType = 'application/vnd.api+json'
export const jsonapi = { version: '1.1' } as const
